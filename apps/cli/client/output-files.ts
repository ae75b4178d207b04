import { randomBytes } from 'node:crypto';
import { accessSync, constants, createWriteStream, existsSync, statSync } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as WebReadable } from 'node:stream/web';
import {
  type Darkroom,
  type GenerationTask,
  type Model,
  type Receive,
  TransferError,
} from '../../../clients/typescript/src/index.js';
import type { JsonObject } from '../../../core/json.js';
import { EXIT, Failure, usageFailure } from '../exit.js';

export interface OutputOptions {
  /** A file, or an existing folder; the folder of the run when absent. */
  readonly out?: string;
  readonly force?: boolean;
}

const EXTENSION_BY_TYPE: Readonly<Record<string, string>> = {
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/webp': '.webp',
  'video/mp4': '.mp4',
};
const ENDINGS_BY_FORMAT: Readonly<Record<string, readonly string[]>> = {
  png: ['.png'],
  jpeg: ['.jpg', '.jpeg'],
  webp: ['.webp'],
  mp4: ['.mp4'],
};
/** Endings that say what is in a file. Any other is the person's own affair. */
const MEDIA_ENDINGS = new Set([
  ...Object.values(ENDINGS_BY_FORMAT).flat(),
  '.gif',
  '.avif',
  '.bmp',
  '.tif',
  '.tiff',
  '.svg',
  '.mov',
  '.webm',
  '.mkv',
  '.avi',
]);

/** Parameters that choose the format of results: that of the sandbox, and that of imported models and of OpenAI. */
const FORMAT_PARAMETERS = ['format', 'output_format'];

/** The formats a model's results may have: what its parameter for the format says, else all of its modality. */
export function formatsOf(modality: string, model?: Model, parameters: JsonObject = {}): readonly string[] {
  const properties = model?.input_schema['properties'] as Readonly<Record<string, JsonObject>> | undefined;
  for (const name of FORMAT_PARAMETERS) {
    const format = parameters[name] ?? properties?.[name]?.['default'];
    if (typeof format === 'string' && Object.hasOwn(ENDINGS_BY_FORMAT, format)) return [format];
  }
  return modality === 'video' ? ['mp4'] : ['png', 'jpeg', 'webp'];
}

/** Refuses an ending that would say something else than what is in the file. */
export function checkEnding({ out }: OutputOptions, formats: readonly string[], from: string): void {
  if (out === undefined || isFolder(resolve(from, out))) return;
  const ending = extname(out).toLowerCase();
  const fitting = formats.flatMap((format) => ENDINGS_BY_FORMAT[format] ?? []);
  if (!MEDIA_ENDINGS.has(ending) || fitting.includes(ending)) return;
  throw usageFailure(
    `${out} would hold ${formats.join(' or ')}, so that it cannot end in ${ending}; end it in ${fitting.join(' or ')}, or omit the ending.`,
  );
}

/** Refuses, before anything is spent, an --out that cannot be written or would overwrite something. */
export function checkOutput({ out, force = false }: OutputOptions, maxOutputs: number, from: string): void {
  if (out === '-') throw usageFailure('--out must be a file or a folder; results are not written to standard output.');
  if (out === '') throw usageFailure('--out must be a file or a folder.');
  const isInside = out === undefined || isFolder(resolve(from, out));
  const folder = isInside ? (out ?? '.') : /[/\\]$/.test(out) ? out : dirname(out);
  if (!isFolder(resolve(from, folder))) throw usageFailure(`There is no folder ${folder} to write to.`);
  if (!isWritable(resolve(from, folder)))
    throw usageFailure(`The folder ${folder} cannot be written by this user; name another with --out.`);
  if (isInside) return;
  const taken = force ? undefined : candidates(out, maxOutputs).find((path) => existsSync(resolve(from, path)));
  if (taken !== undefined)
    throw usageFailure(`${taken} already exists; give --force to overwrite it, or another --out.`);
}

function candidates(out: string, maxOutputs: number): string[] {
  const suffixes = ['', ...Array.from({ length: maxOutputs }, (_, index) => `-${index + 1}`)];
  const extensions = extname(out) === '' ? Object.values(EXTENSION_BY_TYPE) : [extname(out)];
  const stem = extname(out) === '' ? out : out.slice(0, -extname(out).length);
  return suffixes.flatMap((suffix) => extensions.map((extension) => `${stem}${suffix}${extension}`));
}

/** The path of one output, as a user would write it in the folder `from`; `suffix` distinguishes several. */
function outputPath(
  task: GenerationTask,
  { out, from }: { readonly out: string | undefined; readonly from: string },
  suffix: string,
  mediaType: string,
): string {
  const extension = EXTENSION_BY_TYPE[mediaType] ?? '';
  if (out === undefined || isFolder(resolve(from, out)))
    return join(out ?? '.', `${task.generation_id}${suffix}${extension}`);
  return extname(out) === ''
    ? `${out}${suffix}${extension}`
    : `${out.slice(0, -extname(out).length)}${suffix}${extname(out)}`;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const UNWRITABLE = new Set(['ENOSPC', 'EACCES', 'EROFS', 'EISDIR', 'ENOENT', 'EDQUOT', 'ENAMETOOLONG']);

export interface DownloadOptions {
  /** The folder that paths are relative to. */
  readonly folder: string;
  /** Called for each file that was written. */
  readonly onFile?: () => void;
  /** Ends the download when it fires: its reason is thrown. */
  readonly signal?: AbortSignal;
}

/**
 * Downloads all outputs and returns their paths: `name.png`, or `name-1.png`, `name-2.png` and so on for several
 * outputs.
 */
export async function downloadOutputs(
  client: Darkroom,
  task: GenerationTask,
  { out, force = false }: OutputOptions,
  { folder, onFile = () => undefined, signal }: DownloadOptions,
): Promise<string[]> {
  const paths: string[] = [];
  for (const [index, output] of task.outputs.entries()) {
    const suffix = task.outputs.length > 1 ? `-${index + 1}` : '';
    const receive: Receive<string> = (bytes, { mediaType }) => {
      const path = outputPath(task, { out, from: folder }, suffix, mediaType);
      return write(Readable.fromWeb(bytes as WebReadable<Uint8Array>), path, { folder, force });
    };
    paths.push(await client.receive(output, receive, { signal }).catch(notDownloaded));
    onFile();
  }
  return paths;
}

function notDownloaded(error: unknown): never {
  throw error instanceof TransferError ? new Failure(`An output could not be downloaded: ${error.reason}.`) : error;
}

interface Target {
  readonly folder: string;
  readonly force: boolean;
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
