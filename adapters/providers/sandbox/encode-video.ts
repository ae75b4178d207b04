import h264 from 'h264-mp4-encoder';
import {
  BufferSource,
  BufferTarget,
  EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  MP4,
  Mp4OutputFormat,
  Output,
} from 'mediabunny';
import type { Size } from './plan.js';

export interface Footage {
  /** Even in both directions. */
  readonly size: Size;
  readonly framesPerSecond: number;
  readonly frameCount: number;
  /** RGBA, top row first. */
  paintFrame(frame: number): Uint8Array;
}

/**
 * Encodes H.264 in an MP4 that can be played while it loads: its index comes first. The same frames give the same
 * bytes.
 */
export async function encodeVideo(footage: Footage): Promise<Uint8Array> {
  return clearTimes(await remux(await encode(footage), footage));
}

async function encode(footage: Footage): Promise<Uint8Array> {
  const encoder = await h264.createH264MP4Encoder();
  encoder.width = footage.size.widthPx;
  encoder.height = footage.size.heightPx;
  encoder.frameRate = footage.framesPerSecond;
  encoder.quantizationParameter = 22;
  encoder.groupOfPictures = footage.framesPerSecond;
  encoder.speed = 4;
  encoder.initialize();
  try {
    for (let frame = 0; frame < footage.frameCount; frame += 1) encoder.addFrameRgba(footage.paintFrame(frame));
  } catch (error) {
    // Deleted before it is finalized, the encoder would take its whole module down with it.
    finishFile(encoder);
    throw error;
  }
  return finishFile(encoder);
}

function finishFile(encoder: h264.H264MP4Encoder): Uint8Array {
  encoder.finalize();
  const bytes = encoder.FS.readFile(encoder.outputFilename);
  encoder.FS.unlink(encoder.outputFilename);
  encoder.delete();
  return bytes;
}

/**
 * The encoder writes its index last, marks every frame as a place to start from and rounds times; this puts all three
 * right.
 */
async function remux(bytes: Uint8Array, footage: Footage): Promise<Uint8Array> {
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4] });
  const track = await input.getPrimaryVideoTrack();
  const decoderConfig = await track?.getDecoderConfig();
  if (!track || !decoderConfig) throw new Error('The encoder delivered no video track.');
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const source = new EncodedVideoPacketSource('avc');
  output.addVideoTrack(source, { frameRate: footage.framesPerSecond });
  await output.start();
  let frame = 0;
  for await (const packet of new EncodedPacketSink(track).packets()) {
    const type = startsPicture(packet.data) ? 'key' : 'delta';
    await source.add(
      new EncodedPacket(packet.data, type, frame / footage.framesPerSecond, 1 / footage.framesPerSecond),
      { decoderConfig },
    );
    frame += 1;
  }
  await output.finalize();
  input.dispose();
  if (target.buffer === null || frame !== footage.frameCount) throw new Error('The encoder lost a frame.');
  return new Uint8Array(target.buffer);
}

/** Whether a packet of length-prefixed units holds an IDR slice (unit type 5), which needs no earlier frame. */
function startsPicture(packet: Uint8Array): boolean {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  for (let at = 0; at + 5 <= packet.byteLength; at += 4 + view.getUint32(at)) {
    if ((view.getUint8(at + 4) & 0x1f) === 5) return true;
  }
  return false;
}

/** Zeroes the times of creation in the index: they are the only bytes that would differ from run to run. */
function clearTimes(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const walk = (from: number, to: number): void => {
    for (let at = from; at + 8 <= to;) {
      const size = view.getUint32(at);
      const type = Buffer.from(bytes.subarray(at + 4, at + 8)).toString('latin1');
      if (type === 'moov' || type === 'trak' || type === 'mdia') walk(at + 8, at + size);
      // After the version and flags: creation and modification time, of 4 bytes each, or 8 in version 1.
      if (type === 'mvhd' || type === 'tkhd' || type === 'mdhd')
        bytes.fill(0, at + 12, at + 12 + (view.getUint8(at + 8) === 1 ? 16 : 8));
      // A size of 0 or 1 belongs to the media data, which comes last.
      if (size < 8) return;
      at += size;
    }
  };
  walk(0, bytes.byteLength);
  return bytes;
}
