import { expect } from 'chai';
import fc from 'fast-check';
import { CallOver } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import { StoreUnavailable } from '../../../core/errors.js';
import { deleteGeneration, eraseGeneration } from '../../../core/generation/end-generation.js';
import { type Generation, THUMBNAIL_SIDES_PX, type ThumbnailSide } from '../../../core/generation/generation.js';
import { findThumbnail, readThumbnail, thumbnailSize, thumbnailsOf } from '../../../core/generation/thumbnails.js';
import type { Previews, VideoFrames } from '../../../core/ports/media.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { bytesOf, collected } from '../../fixtures/byte-streams.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { CoreHarness, CoreWorker, cutting, untilSettled } from '../../harness/core-harness.js';
import { forAllSync } from '../../harness/for-all.js';
import { outputs, queued } from './generations.js';

// Goal: a thumbnail goes with its output, whatever happens at the same time; its size is recorded while it is stored, and it is made
// once, as long as a request waits for it.
// Method: core on memory adapters with previews that decode nothing; a removal of each kind runs before and after each call of
// the making, and the making is cut at each call; the object store is searched for what is left.

const DAY_MS = 86_400_000;

/** Reads the file, and returns a text that names the size. */
class PlainPreviews implements Previews {
  made = 0;
  gate: Gate | undefined;
  /** Passed once the file has been read. */
  gateAfterRead: Gate | undefined;

  ofImage(): Promise<null> {
    return Promise.resolve(null);
  }

  async thumbnail(
    file: Parameters<Previews['thumbnail']>[0],
    { widthPx, heightPx }: Parameters<Previews['thumbnail']>[1],
    waits?: Parameters<Previews['thumbnail']>[2],
  ) {
    await this.gate?.wait();
    if (waits?.isOver === true) throw new CallOver();
    await collected(await file.read());
    await this.gateAfterRead?.wait();
    this.made += 1;
    return { mediaType: 'image/webp', bytes: bytesOf(`thumbnail of ${widthPx}x${heightPx}`) } as const;
  }
}

describe('thumbnails of a generation', () => {
  let harness: CoreHarness;
  let previews: PlainPreviews;
  let generation: Generation;

  const begin = async (): Promise<void> => {
    harness = await CoreHarness.open({ credits: 100 });
    previews = new PlainPreviews();
    await CoreWorker.start(harness);
    generation = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
  };
  beforeEach(begin);

  const processWith = (interceptor?: Interceptor): Context => harness.process(interceptor, { previews });
  const request = async (context = processWith(), sidePx: ThumbnailSide = 320, index = 0): Promise<unknown> => {
    const { generationId, outputs: made } = generation;
    const found = await findThumbnail(context, { generationId, mediaId: made[index]!.mediaId, sidePx });
    return found === undefined ? 'gone' : readThumbnail(context, found);
  };
  /** The keys of the generation's objects. */
  const stored = async (): Promise<string[]> => {
    const keys = generation.outputs.flatMap(({ objectKey }) => [
      objectKey,
      ...THUMBNAIL_SIDES_PX.map((sidePx) => `${objectKey}-${sidePx}`),
    ]);
    const found = await Promise.all(keys.map(async (key) => ((await harness.ports.objects.stat(key)) ? [key] : [])));
    return found.flat();
  };
  const recover = async (context = harness.process()): Promise<void> => {
    for (let passes = 0; passes < 3; passes += 1) await new Recovery(context).pass();
  };

  const REMOVALS: Readonly<Record<string, (context?: Context) => Promise<void>>> = {
    'a deletion': (context = harness.context) => deleteGeneration(context, harness.caller, generation.generationId),
    'an erasure': async (context = harness.context) => {
      const record = await harness.ports.generations.read(generation.generationId);
      if (record?.kind === 'generation') await eraseGeneration(context, record);
    },
    'the end of its retention': async (context) => {
      harness.clock.jump(harness.settings.outputRetentionMs + 1_000);
      await recover(context);
    },
  };

  it('are stored beside their output, and their sizes are recorded, without another change of the record', async () => {
    const context = processWith();
    for (const sidePx of THUMBNAIL_SIDES_PX) {
      expect(Buffer.from((await request(context, sidePx)) as Uint8Array).toString()).to.equal('thumbnail of 64x64');
      await request(context, sidePx);
    }
    await request(context, 640, 1);
    expect(previews.made).to.equal(4);
    const { outputs: changed, version, dueAt, ...rest } = await harness.generation(generation.generationId);
    expect(changed.map(({ thumbnailBytes }) => thumbnailBytes)).to.deep.equal([
      { 320: 18, 640: 18, 1280: 18 },
      { 640: 18 },
    ]);
    const { outputs: _outputs, version: before, ...same } = generation;
    expect({ ...rest, dueAt }).to.deep.equal(same);
    expect(version).to.equal(before + 4);
    expect(await stored()).to.have.length(2 + 4);
  });

  for (const [what, remove] of Object.entries(REMOVALS)) {
    it(`are removed with ${what}`, async () => {
      for (const sidePx of THUMBNAIL_SIDES_PX) await request(processWith(), sidePx, 1);
      await remove();
      expect(await stored()).to.deep.equal([]);
      expect(await request()).to.equal('gone');
      const record = await harness.ports.generations.read(generation.generationId);
      if (record?.kind === 'generation')
        expect(record.outputs.some(({ thumbnailBytes }) => thumbnailBytes)).to.equal(false);
    });

    it(`are not left behind by ${what} that runs while one is made`, async () => {
      for (let at = 0, isPast = false; !isPast; at += 1)
        for (const when of ['before', 'after']) {
          await begin();
          const names: string[] = [];
          const context = processWith(async (call) => {
            names.push(call.name);
            if (names.length - 1 !== at) return call.proceed();
            if (when === 'before') await remove();
            const done = await call.proceed();
            if (when === 'after') await remove();
            return done;
          });
          const outcome = await request(context);
          isPast = names.length <= at;
          const where = `${when} call ${at}: ${names[at]}`;
          if (isPast) await remove();
          else if (when === 'before' || names.length > at + 1) expect(outcome, where).to.equal('gone');
          expect(await stored(), where).to.deep.equal([]);
        }
    });

    it(`are not left behind when one is made while ${what} runs`, async () => {
      for (let at = 0, isPast = false; !isPast; at += 1) {
        await begin();
        await request(processWith(), 640);
        const context = processWith();
        const { generationId, outputs: made } = generation;
        const found = await findThumbnail(context, { generationId, mediaId: made[0]!.mediaId, sidePx: 320 });
        previews.gateAfterRead = new Gate();
        const making = readThumbnail(context, found!);
        const complete = async (): Promise<unknown> => {
          previews.gateAfterRead?.open();
          return making;
        };
        const names: string[] = [];
        await remove(
          processWith(async (call) => {
            names.push(call.name);
            if (names.length - 1 === at) await complete();
            return call.proceed();
          }),
        );
        isPast = names.length <= at;
        await complete();
        expect(await stored(), `before call ${at}: ${names[at]}`).to.deep.equal([]);
      }
    });

    it(`are removed with ${what}, wherever the making of one was cut`, async () => {
      for (const cut of ['before', 'after'] as const)
        for (let at = 0, isPast = false; !isPast; at += 1) {
          await begin();
          const names: string[] = [];
          await request(processWith(cutting(at, cut, { dies: true, names }))).catch((error: unknown) =>
            expect(error).to.be.instanceOf(StoreUnavailable),
          );
          isPast = names.length <= at;
          await remove();
          expect(await stored(), `cut ${cut} call ${at}: ${names[at]}`).to.deep.equal([]);
        }
    });
  }

  it('that were stored after the deletion by a process that died are removed a day later', async () => {
    const names: string[] = [];
    const dying = processWith(async (call) => {
      names.push(call.name);
      if (names.includes('objects.write') && call.name !== 'objects.write') throw new StoreUnavailable('It died.');
      if (call.name === 'objects.write') await REMOVALS['a deletion']!();
      return call.proceed();
    });
    expect(await codeOf(request(dying)).catch((error: Error) => error.name)).to.equal('StoreUnavailable');
    expect(await stored()).to.have.length(1);
    harness.clock.jump(DAY_MS);
    await recover();
    expect(await stored()).to.deep.equal([]);
  });

  it('of a video are made of its first frame, in the size of the thumbnail', async () => {
    const record = await harness.generation(generation.generationId);
    const [image, video] = record.outputs as [Generation['outputs'][number], Generation['outputs'][number]];
    const changed = {
      ...record,
      version: record.version + 1,
      outputs: [image, { ...video, kind: 'video' as const, widthPx: 1_280, heightPx: 720 }],
    };
    await harness.ports.generations.replace(changed, record.version);
    expect(await request(processWith(), 640, 1)).to.equal('gone');
    const asked: unknown[] = [];
    let frame: Uint8Array | 'too-large' = bytesOf('a frame');
    const videoFrames: VideoFrames = {
      first: async (file, size) => {
        asked.push([file.byteSize, file.widthPx, file.heightPx, size]);
        await collected(await file.read());
        return frame;
      },
    };
    const context = harness.process(undefined, { previews, videoFrames });
    expect(Buffer.from((await request(context, 640, 1)) as Uint8Array).toString()).to.equal('thumbnail of 640x360');
    expect(asked).to.deep.equal([[video.byteSize, 1_280, 720, { widthPx: 640, heightPx: 360 }]]);
    frame = 'too-large';
    expect(await request(context, 320, 1)).to.equal('too-large');
    expect(await request(context, 320, 1)).to.equal('too-large');
    expect(asked).to.have.length(2);
  });

  it('are made again if the object is lost', async () => {
    const context = processWith();
    await request(context);
    await harness.ports.objects.remove(`${generation.outputs[0]!.objectKey}-320`);
    expect(await request(context)).to.be.instanceOf(Uint8Array);
    expect(previews.made).to.equal(2);
    expect(await stored()).to.have.length(3);
  });

  it('are read without the output, and made without a call when a create or a status is served', async () => {
    await request();
    const names: string[] = [];
    await request(
      processWith((call) => {
        names.push(call.name);
        return call.proceed();
      }),
    );
    expect(names).to.deep.equal(['generations.read', 'objects.read']);
  });

  it('are made once for concurrent requests, as long as one of them waits', async () => {
    previews.gate = new Gate();
    const context = processWith();
    const calls = [new TestedCall(), new TestedCall(), new TestedCall()];
    const answers = calls.map((call) => request({ ...context, call }).catch((error: Error) => error.name));
    await harness.clock.advance(0);
    for (const call of calls.slice(0, 2)) call.end();
    previews.gate.open();
    const [first, second, third] = await Promise.all(answers);
    expect([first, second]).to.deep.equal(['CallOver', 'CallOver']);
    expect(third).to.be.instanceOf(Uint8Array);
    expect(previews.made).to.equal(1);
  });

  it('are not made after the last request has ended, and are made for the next one', async () => {
    previews.gate = new Gate();
    const context = processWith();
    const call = new TestedCall();
    const left = request({ ...context, call }).catch((error: Error) => error.name);
    await harness.clock.advance(0);
    call.end();
    const next = request({ ...context, call: new TestedCall() });
    await harness.clock.advance(0);
    previews.gate.open();
    expect(await left).to.equal('CallOver');
    expect(await next).to.be.instanceOf(Uint8Array);
    expect(previews.made).to.equal(1);
  });

  it('of one account leave room for those of others', async () => {
    previews.gate = new Gate();
    const context = processWith();
    const flights = Array.from({ length: 61 }, (_, index) =>
      codeOf(
        context.thumbnailFlights.share(
          { key: `k${index}`, accountId: 'a' },
          async () => {
            await previews.gate?.wait();
            return bytesOf('x');
          },
          undefined,
        ),
      ),
    );
    const other = context.thumbnailFlights.share({ key: 'k', accountId: 'b' }, async () => bytesOf('y'), undefined);
    expect(await other).to.deep.equal(bytesOf('y'));
    previews.gate.open();
    const codes = await Promise.all(flights);
    expect(codes.slice(0, 60).every((code) => code === 'OK')).to.equal(true);
    expect(codes[60]).to.equal('SERVICE_UNAVAILABLE');
  });

  it('have an address each, except for videos without a source of frames and for outputs that are gone', () => {
    const context = harness.context;
    const all = thumbnailsOf(context, generation, 'https://example.com/darkroom');
    expect(all.map(({ mediaId }) => mediaId)).to.deep.equal(generation.outputs.map(({ mediaId }) => mediaId));
    for (const { mediaId, urls } of all)
      for (const sidePx of THUMBNAIL_SIDES_PX)
        expect(urls[sidePx]).to.include(
          `https://example.com/darkroom/thumbnails/${generation.generationId}/${mediaId}/${sidePx}?expires=`,
        );
    const [image, video] = generation.outputs as [Generation['outputs'][number], Generation['outputs'][number]];
    const mixed = { ...generation, outputs: [image, { ...video, kind: 'video' as const }] };
    expect(thumbnailsOf(context, mixed)).to.have.length(1);
    const videoFrames = { first: () => Promise.reject(new Error('It is not asked.')) };
    expect(thumbnailsOf({ ...context, videoFrames }, mixed)).to.have.length(2);
    for (const gone of [{ outputsRemovedAt: 1 }, { deletedAt: 1 }])
      expect(thumbnailsOf(context, { ...generation, ...gone })).to.deep.equal([]);
    expect(thumbnailsOf(context, queued())).to.deep.equal([]);
  });

  it('have a longer side as requested, but no longer than that of the output', () => {
    const [output] = outputs(1) as [Generation['outputs'][number]];
    const length = fc.integer({ min: 1, max: 20_000 });
    forAllSync(300, [length, length, fc.constantFrom(...THUMBNAIL_SIDES_PX)], (widthPx, heightPx, sidePx) => {
      const size = thumbnailSize({ ...output, widthPx, heightPx }, sidePx);
      expect(Math.max(size.widthPx, size.heightPx)).to.equal(Math.min(sidePx, Math.max(widthPx, heightPx)));
      expect(Math.min(size.widthPx, size.heightPx)).to.be.at.least(1);
    });
  });
});
