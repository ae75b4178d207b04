import { expect } from 'chai';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import sharp from 'sharp';
import { FfmpegFrames, type FfmpegFramesOptions } from '../../../adapters/media/ffmpeg-frames.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProbedFile } from '../../../core/ports/media.js';
import { TestedCall } from '../../fixtures/cancellation.js';
import { fileOf } from '../../fixtures/byte-streams.js';
import { until } from '../../fixtures/clocks.js';
import { muxedWithTags } from '../../fixtures/tagged-videos.js';
import { mp4 } from '../../fixtures/videos.js';

// Goal: the first frame of a video comes from a program that can read parts of the file and nothing else, and that ends with the
// call, at its time limit, or when it writes too much; no file and no process is left behind.
// Method: a program in place of ffmpeg, which records its input and then behaves or misbehaves as the test says; then ffmpeg itself,
// if it is on the PATH.

const SIZE = { widthPx: 32, heightPx: 24 };

/** A program that records its arguments, its environment and its input, and then executes the statement `act`. */
const fakeOf = (act: string, folder: string): string => `#!${process.execPath}
const { readFileSync, writeFileSync, fstatSync } = require('node:fs');
const input = readFileSync('/dev/fd/0');
writeFileSync(${JSON.stringify(join(folder, 'seen.json'))}, JSON.stringify({
  args: process.argv.slice(2), env: Object.keys(process.env), pid: process.pid,
  byteSize: input.length, first: input.subarray(0, 4).toString(), last: input.subarray(-4).toString(), 
}));
${act}
`;

interface Seen {
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly pid: number;
  readonly byteSize: number;
  readonly first: string;
  readonly last: string;
}

describe('FfmpegFrames', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-frames-'));
  });
  afterEach(async () => {
    const left = (await readdir(folder)).filter((name) => name.startsWith('darkroom-'));
    await rm(folder, { recursive: true });
    expect(left).to.deep.equal([]);
  });

  async function framesOf(act: string, options: Partial<FfmpegFramesOptions> = {}): Promise<FfmpegFrames> {
    const program = join(folder, 'program.cjs');
    await writeFile(program, fakeOf(act, folder));
    await chmod(program, 0o700);
    return FfmpegFrames.open({ program, folder, ...options });
  }
  const PRINTS = `process.stdout.write('a frame')`;
  const videoOf = (file: ProbedFile, widthPx = 64, heightPx = 48) => ({
    byteSize: file.byteSize,
    read: file.read.bind(file),
    widthPx,
    heightPx,
  });
  const seen = async () => JSON.parse(await readFile(join(folder, 'seen.json'), 'utf8')) as Seen;
  const isRunning = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  it('gives the program an open file, and no environment, network or second stream', async () => {
    const frame = await (await framesOf(PRINTS)).first(videoOf(fileOf(await mp4())), SIZE);
    expect(Buffer.from(frame as Uint8Array).toString()).to.equal('a frame');
    const { args, env, byteSize } = await seen();
    expect(env).to.deep.equal([]);
    expect(byteSize).to.equal((await mp4()).byteLength);
    expect(args.join(' ')).to.include('-protocol_whitelist file').and.include('-i file:/dev/fd/0');
    expect(args.join(' ')).to.include('-threads 1').and.include('-frames:v 1').and.include('scale=32:24');
  });

  it('reads only the beginning and the end of a long video', async () => {
    const byteSize = 200 * 1024 * 1024;
    let read = 0;
    const file: ProbedFile = {
      byteSize,
      async read(range) {
        const length = range!.to - range!.from;
        return (async function* pieces() {
          for (let at = 0; at < length; at += 1024 * 1024) {
            read += Math.min(length - at, 1024 * 1024);
            yield Buffer.alloc(Math.min(length - at, 1024 * 1024), range!.from === 0 ? 'a' : 'z');
          }
        })();
      },
    };
    await (await framesOf(PRINTS)).first(videoOf(file), SIZE);
    expect(read).to.equal(32 * 1024 * 1024);
    expect(await seen()).to.include({ byteSize, first: 'aaaa', last: 'zzzz' });
  });

  const OUTCOMES: Readonly<Record<string, readonly [act: string, outcome: string]>> = {
    'fails': ['process.exit(1)', 'unreadable'],
    'writes nothing': ['process.exit(0)', 'unreadable'],
    'writes half a frame and fails': [`process.stdout.write('half', () => process.exit(1))`, 'unreadable'],
    'never stops writing': [
      'const more = () => process.stdout.write(Buffer.alloc(1 << 20), more); more()',
      'unreadable',
    ],
    'is killed by the system': [`process.kill(process.pid, 'SIGKILL')`, 'unreadable'],
    'takes too long': ['setInterval(() => undefined, 1_000)', 'too-large'],
  };
  for (const [what, [act, outcome]] of Object.entries(OUTCOMES))
    it(`returns no frame and stops the program if it ${what}`, async () => {
      const maxMs = outcome === 'too-large' ? 1_500 : 20_000;
      const frames = await framesOf(act, { maxMs });
      expect(await frames.first(videoOf(fileOf(await mp4())), SIZE)).to.equal(outcome);
      const { pid } = await seen();
      await until(async () => !isRunning(pid));
    });

  it('kills the program when the call ends, and does not start it for a call that has ended', async () => {
    const frames = await framesOf('setInterval(() => undefined, 1_000)');
    const call = new TestedCall();
    const taking = frames.first(videoOf(fileOf(await mp4())), SIZE, call).catch((error: Error) => error.name);
    const { pid } = await untilSeen();
    call.end();
    expect(await taking).to.equal('CallOver');
    await until(async () => !isRunning(pid));
    await rm(join(folder, 'seen.json'));
    const late = frames
      .first(videoOf(fileOf(await mp4())), SIZE, TestedCall.over())
      .catch((error: Error) => error.name);
    expect(await late).to.equal('CallOver');
    expect(await readdir(folder)).not.to.include('seen.json');
  });
  async function untilSeen(): Promise<Seen> {
    let found: Seen | undefined;
    await until(async () => (found = await seen().catch(() => undefined)) !== undefined);
    return found as Seen;
  }

  it('refuses a video of too many pixels without reading it, and waits until others release memory', async () => {
    const unread: ProbedFile = { byteSize: 9, read: () => Promise.reject(new Error('It must not be read.')) };
    const memory = new MemoryBudget(1_000);
    const frames = await framesOf(PRINTS, { memory });
    expect(await frames.first(videoOf(unread, 7_680, 4_320), SIZE)).to.equal('too-large');
    let release: () => void = () => undefined;
    const held = memory.during(1_000, () => new Promise<void>((resolve) => (release = resolve)));
    const taking = frames.first(videoOf(fileOf(await mp4())), SIZE);
    while (memory.waiting === 0) await new Promise(setImmediate);
    release();
    await held;
    expect(await taking).to.be.instanceOf(Uint8Array);
    expect(memory.heldBytes).to.equal(0);
  });

  it('throws when reading the file fails', async () => {
    const broken: ProbedFile = { byteSize: 9, read: () => Promise.reject(new Error('no connection')) };
    const error = await (await framesOf(PRINTS)).first(videoOf(broken), SIZE).catch((thrown: Error) => thrown.message);
    expect(error).to.equal('no connection');
  });

  it('explains why a program cannot be run, and returns busy if it disappears later', async () => {
    await writeFile(join(folder, 'text'), 'no program', { mode: 0o600 });
    for (const [name, code] of [
      ['none', 'ENOENT'],
      ['text', 'EACCES'],
    ] as const) {
      const program = join(folder, name);
      expect(await FfmpegFrames.open({ program, folder }).catch((error: Error) => error.message)).to.equal(
        `images.ffmpeg ${program} is not a program that can be run (${code}).`,
      );
    }
    const frames = await framesOf(PRINTS);
    await rm(join(folder, 'program.cjs'));
    expect(await frames.first(videoOf(fileOf(await mp4())), SIZE)).to.equal('busy');
  });

  describe('with ffmpeg itself', () => {
    let frames: FfmpegFrames;
    beforeEach(async function () {
      const program = (process.env['PATH'] ?? '')
        .split(delimiter)
        .map((one) => join(one, 'ffmpeg'))
        .find(isExecutable);
      if (program === undefined) {
        console.log('      skipped: there is no ffmpeg on the PATH');
        return this.skip();
      }
      frames = await FfmpegFrames.open({ program, folder });
    });

    it('returns the first frame wherever the index is', async () => {
      for (const form of ['index first', 'index last', 'fragmented'] as const) {
        const frame = await frames.first(videoOf(fileOf(await muxedWithTags(form, 'udta'))), SIZE);
        if (typeof frame === 'string') expect.fail(`${form}: ${frame}`);
        const { format, width, height } = await sharp(frame).metadata();
        expect([format, width, height], form).to.deep.equal(['png', 32, 24]);
      }
    });

    it('returns unreadable for a file that is not a video and for a truncated one', async () => {
      for (const bytes of [Buffer.from('#EXTM3U\n/etc/passwd\n'), (await mp4()).subarray(0, 300)])
        expect(await frames.first(videoOf(fileOf(bytes)), SIZE)).to.equal('unreadable');
    });
  });
});

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
