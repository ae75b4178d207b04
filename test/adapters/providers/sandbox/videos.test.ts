/*
 * Goal: videos are playable MP4 of exactly the size and length asked for, and the same request gives the same bytes.
 * Method: one-second videos are rendered, demuxed again and looked into box by box.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { BufferSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';
import { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { reportsUntilOver, submitted } from '../../../contracts/provider.contract.js';
import { render } from './render.js';
import { HandClock, referenceFile, task } from './tasks.js';

const SMALL = { size: '256x256', duration_seconds: 1 };

describe('Sandbox videos', () => {
  let provider: SandboxProvider;
  before(() => void (provider = new SandboxProvider({ clock: new HandClock(), threads: 1 })));
  after(() => provider.close());

  it('is H.264 of the size, rate and length asked for, its index first', async () => {
    const [bytes] = await render(provider, { painter: 'video', parameters: { ...SMALL, fps: 24 } });
    expect(boxesOf(bytes!).slice(0, 2)).to.deep.equal(['ftyp', 'moov']);
    const track = await trackOf(bytes!);
    expect([track.codec, track.width, track.height, track.durationSeconds]).to.deep.equal(['avc', 256, 256, 1]);
    expect(track.packets.map((packet) => Math.round(packet.timestamp * 24))).to.deep.equal(
      Array.from({ length: 24 }, (_, frame) => frame),
    );
    expect(track.packets[0]!.type).to.equal('key');
    expect(track.packets.filter((packet) => packet.type === 'delta')).to.not.have.length(0);
  });

  it('gives the same bytes for the same request, whenever it is made', async () => {
    const [first] = await render(provider, { painter: 'video', parameters: SMALL });
    // The container counts in seconds: in the next one a time of creation would show.
    const second = Math.floor(Date.now() / 1000);
    while (Math.floor(Date.now() / 1000) === second) await sleep(20);
    const [again] = await render(provider, { painter: 'video', parameters: SMALL });
    expect(again!.equals(first!)).to.equal(true);
  });

  it('takes start and end frames', async () => {
    const [frame] = await render(provider, { parameters: { size: '256x256' }, prompt: 'a red heart' });
    const [plain] = await render(provider, { painter: 'video', parameters: SMALL });
    const references = [referenceFile('start_frame', frame!), referenceFile('end_frame', frame!)];
    const [framed] = await render(provider, { painter: 'video', parameters: SMALL, references });
    expect((await trackOf(framed!)).durationSeconds).to.equal(1);
    expect(framed!.equals(plain!)).to.equal(false);
  });

  it('stops painting when it is cancelled, and the thread takes the next task', async () => {
    const long = task({
      token: 'long',
      painter: 'video',
      parameters: { size: '512x512', duration_seconds: 10, fps: 24 },
    });
    const reference = await submitted(provider, long);
    let report = await provider.poll(reference);
    while (report.state === 'running' && report.progress === 0) {
      await sleep(5);
      report = await provider.poll(reference);
    }
    await provider.cancel(reference);
    expect(await reportsUntilOver(provider, reference, long)).to.deep.equal([{ state: 'cancelled', outputs: [] }]);
    const [next] = await render(provider, { painter: 'video', parameters: SMALL });
    expect((await trackOf(next!)).durationSeconds).to.equal(1);
  });
});

function boxesOf(bytes: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at + 8 <= bytes.length; at += Math.max(8, bytes.readUInt32BE(at)))
    names.push(bytes.toString('latin1', at + 4, at + 8));
  return names;
}

async function trackOf(bytes: Buffer) {
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4] });
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw new Error('There is no video track.');
  const packets: { timestamp: number; type: string }[] = [];
  for await (const { timestamp, type } of new EncodedPacketSink(track).packets()) packets.push({ timestamp, type });
  return {
    codec: track.codec,
    width: track.displayWidth,
    height: track.displayHeight,
    durationSeconds: await input.computeDuration(),
    packets,
  };
}
