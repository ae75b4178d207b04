import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, percentile } from './statistics.js';

const APPENDS = 200;
const APPEND_BYTES = 512;

/**
 * A folder for this run: a temporary one where that is on the checkout's disk, else one in the checkout's own data
 * folder.
 */
export function createBenchFolder(checkout: string): string {
  const isSameDisk = statSync(tmpdir()).dev === statSync(checkout).dev;
  const parent = isSameDisk ? tmpdir() : join(checkout, 'data');
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, 'darkroom-bench-'));
}

export interface SyncTimes {
  readonly medianMicros: number;
  readonly p99Micros: number;
}

/** The time this disk takes to make a small append durable, which every guarantee of the service depends on. */
export function measureSync(folder: string): SyncTimes {
  const file = openSync(join(folder, 'sync-times'), 'a');
  const bytes = Buffer.alloc(APPEND_BYTES, 'x');
  const times: number[] = [];
  for (let index = 0; index < APPENDS; index += 1) {
    const beganAt = performance.now();
    writeSync(file, bytes);
    fdatasyncSync(file);
    times.push((performance.now() - beganAt) * 1_000);
  }
  closeSync(file);
  return { medianMicros: median(times), p99Micros: percentile(times, 0.99) };
}

/** The size of the store's files in a data folder, in bytes. */
export function storeBytes(dataFolder: string): number {
  const files = readdirSync(dataFolder).filter((name) => name.startsWith('darkroom.db'));
  return files.reduce((sum, name) => sum + statSync(join(dataFolder, name)).size, 0);
}
