import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
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
 * Gives all files their new texts, or leaves all as they were. Each is replaced whole, in this order, and keeps its owner and
 * its permissions; a link stays a link. The new text is in `<file>.lock` until then, so that of two commands that change a
 * file at the same time one fails. Throws one sentence, also where a file is not as it was read.
 */
export function changeFiles(files: readonly ChangedFile[]): void {
  const locked: Locked[] = [];
  let current = files[0];
  try {
    for (const file of files) {
      current = file;
      const target = existsSync(file.path) ? realpathSync(file.path) : file.path;
      // A file that its owner has made read-only would be replaced all the same.
      if (existsSync(target)) accessSync(target, constants.W_OK);
      mkdirSync(dirname(target), { recursive: true });
      const lock = `${target}.lock`;
      const descriptor = openSync(lock, 'wx', existsSync(target) ? 0o600 : 0o666);
      const one = { file, target, lock, old: `${lock}.old`, hasOld: false, isReplaced: false };
      locked.push(one);
      writeNew(one, descriptor);
    }
    for (const { file } of locked)
      if (readText(file.path, file.name) !== file.before)
        throw new Failure(
          `${file.name} was changed by another program in the meantime; nothing was written, so run the command again.`,
        );
    for (const one of locked) {
      current = one.file;
      if (one.file.before !== undefined) keepOld(one);
      renameSync(one.lock, one.target);
      one.isReplaced = true;
    }
  } catch (error) {
    for (const one of locked) takeBack(one);
    if (error instanceof Failure) throw error;
    throw new Failure(sentenceAbout(current?.name ?? 'A file', error as NodeJS.ErrnoException));
  }
  for (const { old } of locked) rmSync(old, { force: true });
}

interface Locked {
  readonly file: ChangedFile;
  /** The path behind symbolic links. */
  readonly target: string;
  readonly lock: string;
  readonly old: string;
  hasOld: boolean;
  isReplaced: boolean;
}

function sentenceAbout(name: string, { code, path }: NodeJS.ErrnoException): string {
  if (code === 'EEXIST' && path?.endsWith('.lock') === true)
    return `${path} exists: another command is changing ${name}. If none is, delete that file; nothing was changed.`;
  return `${name} cannot be written (${code}); nothing was changed.`;
}

/** On the disk before it replaces anything. */
function writeNew({ file, target }: Locked, descriptor: number): void {
  try {
    writeFileSync(descriptor, file.after);
    const old = statSync(target, { throwIfNoEntry: false });
    if (old !== undefined) {
      const own = fstatSync(descriptor);
      // An administrator changes files that the service has to read.
      if (old.uid !== own.uid || old.gid !== own.gid) fchownSync(descriptor, old.uid, old.gid);
      fchmodSync(descriptor, old.mode & 0o7777);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Under a second name, which needs no room on the disk; some file systems have none. */
function keepOld(one: Locked): void {
  const { target, old } = one;
  rmSync(old, { force: true });
  try {
    linkSync(target, old);
  } catch {
    copyFileSync(target, old);
  }
  one.hasOld = true;
}

function takeBack({ target, lock, old, hasOld, isReplaced }: Locked): void {
  if (!isReplaced) rmSync(lock, { force: true });
  else if (hasOld) renameSync(old, target);
  else rmSync(target, { force: true });
  if (hasOld) rmSync(old, { force: true });
}
