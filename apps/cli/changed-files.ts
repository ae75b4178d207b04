import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { Failure } from './exit.js';

/** A file that is going to have another text. */
export interface ChangedFile {
  /** Absolute. */
  readonly path: string;
  /** How sentences name it. */
  readonly name: string;
  /** Undefined for a new file. */
  readonly before: string | undefined;
  readonly after: string;
}

/** The text of a file in UTF-8; undefined where there is none. Throws one sentence. */
export function readText(path: string, name: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Failure(`${name} cannot be read (${error instanceof TypeError ? 'it is not UTF-8 text' : code}).`);
  }
}

/**
 * Gives all files their new texts, or leaves all as they were. Each is replaced whole and keeps its permissions; a link
 * stays a link. Throws one sentence, also where a file is not as it was read.
 */
export function changeFiles(files: readonly ChangedFile[]): void {
  const written: { readonly file: ChangedFile; readonly target: string; readonly temporary: string }[] = [];
  const replaced: string[] = [];
  try {
    for (const file of files) {
      const target = existsSync(file.path) ? realpathSync(file.path) : file.path;
      const temporary = `${target}.${randomBytes(4).toString('hex')}.tmp`;
      written.push({ file, target, temporary });
      writeBeside(file, target, temporary);
    }
    for (const { file } of written)
      if (readText(file.path, file.name) !== file.before)
        throw new Failure(`${file.name} was changed by another program in the meantime; nothing was written.`);
    for (const { file, target, temporary } of written) {
      renameSync(temporary, target);
      replaced.push(file.name);
    }
  } catch (error) {
    for (const { file, target, temporary } of written) {
      if (existsSync(temporary)) rmSync(temporary);
      if (replaced.includes(file.name)) restore(file, target);
    }
    if (error instanceof Failure) throw error;
    const file = written.at(-1)?.file.name ?? 'A file';
    throw new Failure(`${file} cannot be written (${(error as NodeJS.ErrnoException).code}); nothing was changed.`);
  }
}

/** On the disk before it replaces anything. */
function writeBeside({ after }: ChangedFile, target: string, temporary: string): void {
  mkdirSync(dirname(target), { recursive: true });
  const mode = statSync(target, { throwIfNoEntry: false })?.mode;
  const descriptor = openSync(temporary, 'wx', mode ?? 0o666);
  try {
    writeFileSync(descriptor, after);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  if (mode !== undefined) chmodSync(temporary, mode & 0o7777);
}

function restore({ before }: ChangedFile, target: string): void {
  if (before === undefined) rmSync(target, { force: true });
  else writeFileSync(target, before);
}
