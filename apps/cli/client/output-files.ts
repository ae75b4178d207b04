import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EXIT, Failure } from '../exit.js';
import { outputPath, type OutputOptions } from './output-path.js';
import { networkReason, PATIENT_TRIES, waitBeforeRetry } from './retry.js';
import type { Task } from './service-types.js';

const UNWRITABLE = new Set(['ENOSPC', 'EACCES', 'EROFS', 'EISDIR', 'ENOENT', 'EDQUOT', 'ENAMETOOLONG']);
const DOWNLOAD_TIMEOUT_MS = 600_000;

export interface DownloadOptions {
  /** Where relative paths begin. */
  readonly folder: string;
  /** Called for each file that was written. */
  readonly onFile?: () => void;
  /** Ends the download when it fires: its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** Downloads all outputs and answers their paths: `name.png`, or `name-1.png` and on when there are several. */
export async function downloadOutputs(
  task: Task,
  { out, force = false }: OutputOptions,
  { folder, onFile = () => undefined, signal }: DownloadOptions,
): Promise<string[]> {
  const target: Target = { folder, force, signal };
  const paths: string[] = [];
  for (const [index, { url }] of task.outputs.entries()) {
    const suffix = task.outputs.length > 1 ? `-${index + 1}` : '';
    paths.push(await download(url, (mediaType) => outputPath(task, { out, from: folder }, suffix, mediaType), target));
    onFile();
  }
  return paths;
}

interface Target {
  readonly folder: string;
  readonly force: boolean;
  readonly signal: AbortSignal | undefined;
}

async function download(url: string, pathFor: (mediaType: string) => string, target: Target): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    let why: string;
    let retryAfter: string | null = null;
    try {
      const timeout = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
      const response = await fetch(url, {
        signal: target.signal === undefined ? timeout : AbortSignal.any([target.signal, timeout]),
      });
      const mediaType = response.headers.get('content-type')?.split(';')[0]?.trim() ?? '';
      if (response.ok && response.body) return await write(Readable.fromWeb(response.body), pathFor(mediaType), target);
      why = `its address answered with status ${response.status}`;
      retryAfter = response.headers.get('retry-after');
      if (response.status !== 503 && response.status !== 429)
        throw new Failure(`An output could not be downloaded: ${why}.`);
    } catch (error) {
      target.signal?.throwIfAborted();
      if (error instanceof Failure) throw error;
      why = networkReason(error);
    }
    if (tries >= PATIENT_TRIES) throw new Failure(`An output could not be downloaded: ${why}.`);
    await waitBeforeRetry(tries, retryAfter, target.signal);
  }
}

/** The file appears complete or not at all, and replaces no other unless asked to. */
async function write(bytes: Readable, path: string, { folder, force }: Target): Promise<string> {
  const file = resolve(folder, path);
  const partial = `${file}.${randomBytes(4).toString('hex')}.part`;
  try {
    await pipeline(bytes, createWriteStream(partial));
    if (force) await rename(partial, file);
    else await link(partial, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new Failure(`${path} already exists; give --force to overwrite it.`, EXIT.usage);
    if (UNWRITABLE.has(code ?? '')) {
      throw new Failure(`${path} cannot be written (${code}).`);
    }
    throw error;
  } finally {
    await rm(partial, { force: true });
  }
  return path;
}
