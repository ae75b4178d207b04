import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import PQueue from 'p-queue';
import { CallOver, type Waits } from '../../core/cancellation.js';
import { MemoryBudget } from '../../core/memory-budget.js';
import type { ProbedFile, ThumbnailRefusal, VideoFrames } from '../../core/ports/media.js';
import { UnnamedFile } from '../unnamed-file.js';

const MIB = 1024 * 1024;
/** The parts of a video that are read: its index is at the beginning or the end, and its first frame is near one of them. */
const HEAD_BYTES = 16 * MIB;
const TAIL_BYTES = 16 * MIB;
/** The most pixels of a frame: 4096x2304. */
const MAX_PIXELS = 9_437_184;
/** The frames that a decoder may hold, and the bytes of a pixel with ten bits. */
const HELD_FRAMES = 17;
const PIXEL_BYTES = 3;
const MAX_BLOCK_BYTES = 256 * MIB;
/** A first frame takes a fraction of this. */
const MAX_MS = 20_000;
const MAX_WAITING = 50;
/** A frame as a PNG: more than four bytes a pixel of the largest size are none. */
const MAX_FRAME_BYTES = 16 * MIB;

export interface FfmpegFramesOptions {
  /** The path of the program. */
  readonly program: string;
  /** For the part of a video that is read; its files have no names. */
  readonly folder: string;
  /** The memory budget, shared with other decoders; one of 192 MiB when absent. */
  readonly memory?: MemoryBudget;
  /** How long the program may run, in milliseconds; 20 seconds when absent. */
  readonly maxMs?: number;
}

/**
 * Takes frames with ffmpeg, one at a time. The program gets an open file as its input, and no network, shell, environment or
 * terminal; it decodes with one thread. It is killed when its time is over, and when the call is.
 */
export class FfmpegFrames implements VideoFrames {
  readonly #queue = new PQueue({ concurrency: 1 });
  readonly #memory: MemoryBudget;

  private constructor(private readonly options: FfmpegFramesOptions) {
    this.#memory = options.memory ?? new MemoryBudget(192 * MIB);
  }

  /** Throws one sentence if the program cannot be run. */
  static async open(options: FfmpegFramesOptions): Promise<FfmpegFrames> {
    await access(options.program, constants.X_OK).catch((error: NodeJS.ErrnoException) => {
      throw new Error(`images.ffmpeg ${options.program} is not a program that can be run (${error.code}).`);
    });
    return new FfmpegFrames(options);
  }

  async first(
    video: Parameters<VideoFrames['first']>[0],
    size: Parameters<VideoFrames['first']>[1],
    waits?: Waits,
  ): Promise<Uint8Array | ThumbnailRefusal> {
    const pixels = video.widthPx * video.heightPx;
    if (pixels > MAX_PIXELS) return 'too-large';
    if (this.#queue.size >= MAX_WAITING) return 'busy';
    return this.#queue.add(() =>
      this.#memory.during(pixels * PIXEL_BYTES * HELD_FRAMES, () => this.#take(video, size, waits), waits),
    );
  }

  async #take(
    video: ProbedFile,
    size: Parameters<VideoFrames['first']>[1],
    waits: Waits | undefined,
  ): Promise<Uint8Array | ThumbnailRefusal> {
    const { folder, program, maxMs = MAX_MS } = this.options;
    const file = await UnnamedFile.open(folder);
    try {
      await copyEnds(video, file, waits);
      const child = spawn(program, argumentsFor(size), {
        stdio: [file.descriptor, 'pipe', 'ignore'],
        env: {},
        shell: false,
      });
      return await outcomeOf(child, maxMs, waits);
    } finally {
      await file.close();
    }
  }
}

/** Copies a video, without the middle of a long one. */
async function copyEnds(video: ProbedFile, file: UnnamedFile, waits: Waits | undefined): Promise<void> {
  const { byteSize } = video;
  const isWhole = byteSize <= HEAD_BYTES + TAIL_BYTES;
  const parts = isWhole
    ? [{ from: 0, to: byteSize }]
    : [
        { from: 0, to: HEAD_BYTES },
        { from: byteSize - TAIL_BYTES, to: byteSize },
      ];
  for (const part of parts) {
    file.skip(part.from - file.byteSize);
    for await (const piece of await video.read(part)) {
      if (waits?.isOver === true) throw new CallOver();
      await file.append(piece);
    }
  }
}

function argumentsFor({ widthPx, heightPx }: { readonly widthPx: number; readonly heightPx: number }): string[] {
  const words = [
    `-nostdin -hide_banner -loglevel quiet -max_alloc ${MAX_BLOCK_BYTES}`,
    // Nothing but this file is opened, whatever it names.
    `-protocol_whitelist file -f mov -threads 1 -max_pixels ${MAX_PIXELS} -i file:/dev/fd/0`,
    `-map 0:v:0 -frames:v 1 -vf scale=${widthPx}:${heightPx} -pix_fmt rgb24 -c:v png`,
    '-f image2pipe -protocol_whitelist pipe pipe:1',
  ];
  return words.join(' ').split(' ');
}

/** The standard output of the program, once it has ended. It never outlives this. */
function outcomeOf(
  child: ChildProcess,
  maxMs: number,
  waits: Waits | undefined,
): Promise<Uint8Array | ThumbnailRefusal> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let byteSize = 0;
    let isLate = false;
    const kill = (): void => void child.kill('SIGKILL');
    const timer = setTimeout(() => {
      isLate = true;
      kill();
    }, maxMs);
    const listenNoMore = waits?.onOver(kill);
    if (waits?.isOver === true) kill();
    child.stdout?.on('data', (piece: Uint8Array) => {
      byteSize += piece.byteLength;
      if (byteSize > MAX_FRAME_BYTES) kill();
      else pieces.push(piece);
    });
    const end = (outcome: Uint8Array | ThumbnailRefusal): void => {
      clearTimeout(timer);
      listenNoMore?.();
      if (waits?.isOver === true) reject(new CallOver());
      else resolve(outcome);
    };
    // The program was there at the start; another one may be installed right now.
    child.once('error', () => end('busy'));
    child.once('close', (code) => {
      if (isLate) return end('too-large');
      end(code === 0 && byteSize > 0 ? Buffer.concat(pieces) : 'unreadable');
    });
  });
}
