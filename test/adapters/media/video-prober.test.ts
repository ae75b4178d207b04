// Goal: a video that makes the demuxer take more memory or time than any valid one costs its own answer only.
// Method: videos as the demuxer is given them, without the checks before it, in threads with small limits.
import { expect } from 'chai';
import { VideoProber, type VideoProberOptions } from '../../../adapters/media/video-prober.js';
import { box, lastIndex, withinBox } from '../../fixtures/tagged-videos.js';
import { mp4 } from '../../fixtures/videos.js';

const LIMITS = { maxPixels: 1_000_000, decode: 'full', kind: 'video' } as const;
const UNREADABLE = { invalid: 'The file starts like an MP4 video but cannot be read.' };
const FACTS = { kind: 'video', mediaType: 'video/mp4', widthPx: 64, heightPx: 48, durationMs: 500 };

const SAMPLES = ['moov', 'trak', 'mdia', 'minf', 'stbl'];
const words = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUInt32BE(value, 4 * index));
  return bytes;
};
const MANY = 0xffff_ffff;
/** Four thousand million samples, all of which the demuxer makes. */
const ENDLESS_MEMORY = Buffer.concat([box('stts', words(0, 1, MANY, 0)), box('ctts', words(0, 1, 1, 0))]);
/** As many samples in a chunk, whose sizes the demuxer adds. */
const ENDLESS_TIME = box('stsc', words(0, 1, 1, MANY, 1));

describe('VideoProber', () => {
  const probe = async (prober: VideoProber, bytes: Uint8Array) =>
    prober.probe({ byteSize: bytes.byteLength, parts: [{ at: 0, bytes }] }, LIMITS);

  const cases: readonly (readonly [string, Uint8Array, VideoProberOptions])[] = [
    ['memory', ENDLESS_MEMORY, { maxHeapMib: 96 }],
    ['time', ENDLESS_TIME, { maxBusyMs: 500 }],
  ];
  for (const [what, table, options] of cases)
    it(`refuses a video that takes endless ${what}, and probes the others that wait`, async () => {
      const prober = new VideoProber(options);
      const endless = withinBox(await lastIndex(), SAMPLES, table);
      const answers = await Promise.all(
        [mp4(), endless, mp4(), endless, mp4()].map(async (bytes) => probe(prober, await bytes)),
      );
      const found = { ...FACTS, contentBytes: (await mp4()).byteLength };
      expect(answers).to.deep.equal([found, UNREADABLE, found, UNREADABLE, found]);
    });

  it('throws where its thread cannot start, as that is not the fault of a video', async () => {
    const prober = new VideoProber({ module: new URL('./no-thread.js', import.meta.url) });
    const error = await probe(prober, await mp4()).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error).and.have.property('message', 'The thread that probes videos cannot start.');
  });

  it('lets other work in while a video is probed', async () => {
    const prober = new VideoProber({ maxBusyMs: 500 });
    let turns = 0;
    const answer = probe(prober, withinBox(await lastIndex(), SAMPLES, ENDLESS_TIME)).finally(() => (turns = -turns));
    while (turns >= 0) {
      turns += 1;
      await new Promise(setImmediate);
    }
    expect(await answer).to.deep.equal(UNREADABLE);
    expect(-turns).to.be.above(100);
  });
});
