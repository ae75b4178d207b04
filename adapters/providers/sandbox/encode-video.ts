import type h264Module from 'h264-mp4-encoder';
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
import { createRequire } from 'node:module';
import type { Plan } from './plan.js';

/** One file of the package, which the build copies: `apps/web/build.mjs` has the list. */
const ENCODER = '../../../packages/h264-mp4-encoder/embuild/dist/h264-mp4-encoder.node.js';
const h264 = createRequire(import.meta.url)(ENCODER) as typeof h264Module;

/**
 * Encodes H.264 in an MP4 that can be played while it loads. The same frames give the same bytes. Width and height are even;
 * `paintFrame` gives RGBA, top row first.
 */
export async function encodeVideo(
  { size, framesPerSecond }: Plan,
  frameCount: number,
  paintFrame: (frame: number) => Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = await h264.createH264MP4Encoder();
  encoder.width = size.widthPx;
  encoder.height = size.heightPx;
  encoder.frameRate = framesPerSecond;
  encoder.quantizationParameter = 22;
  encoder.groupOfPictures = framesPerSecond;
  encoder.speed = 4;
  encoder.initialize();
  for (let frame = 0; frame < frameCount; frame += 1) encoder.addFrameRgba(paintFrame(frame));
  encoder.finalize();
  const encoded = encoder.FS.readFile(encoder.outputFilename);
  encoder.FS.unlink(encoder.outputFilename);
  encoder.delete();
  return clearTimes(await writeAgain(encoded, framesPerSecond, frameCount));
}

/** The encoder writes its index last, marks every frame as a key frame and rounds times. */
async function writeAgain(encoded: Uint8Array, framesPerSecond: number, frameCount: number): Promise<ArrayBuffer> {
  const input = new Input({ source: new BufferSource(encoded), formats: [MP4] });
  const track = await input.getPrimaryVideoTrack();
  const decoderConfig = await track?.getDecoderConfig();
  if (!track || !decoderConfig) throw new Error('The encoder delivered no video track.');
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: 'in-memory' }), target });
  const source = new EncodedVideoPacketSource('avc');
  output.addVideoTrack(source, { frameRate: framesPerSecond });
  await output.start();
  let frame = 0;
  // The type of a packet is read from its frame.
  const packets = new EncodedPacketSink(track).packets(undefined, undefined, { verifyKeyPackets: true });
  for await (const { data, type } of packets) {
    await source.add(new EncodedPacket(data, type, frame / framesPerSecond, 1 / framesPerSecond), { decoderConfig });
    frame += 1;
  }
  await output.finalize();
  if (target.buffer === null || frame !== frameCount) throw new Error('The encoder lost a frame.');
  return target.buffer;
}

/**
 * Zeroes the times of creation and modification, the only bytes that would differ from run to run. The index comes first
 * and describes one track, so the first box of each name is the one.
 */
function clearTimes(file: ArrayBuffer): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(file);
  for (const box of ['mvhd', 'tkhd', 'mdhd']) {
    // After the name, the version (4-byte times, or 8 in version 1) and the flags.
    const at = bytes.indexOf(box) + 4;
    bytes.fill(0, at + 4, at + 4 + (bytes[at] === 1 ? 16 : 8));
  }
  return new Uint8Array(file);
}
