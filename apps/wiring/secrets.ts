import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const SECRET_BYTES = 32;

/** The secrets of one installation, each derived from one that never leaves its file. */
export interface Secrets {
  /** Keys the digests that stand for credentials. */
  readonly credentials: Uint8Array;
  /** Signs the addresses of objects in a folder. */
  readonly objects: Uint8Array;
  /** Shows whether two processes have the same secret, and reveals nothing else about it. */
  readonly fingerprint: string;
}

export interface SecretNeeds {
  /** Whether there is data already that a new secret would be of no use to. */
  readonly inUse: boolean;
  /** Whether other processes need the same one, which then cannot be made here. */
  readonly isShared: boolean;
}

/**
 * Reads the secret, or makes one that only its owner can read. Without it stored keys and signed addresses are
 * worthless, so it belongs in every backup. Throws one sentence when the file is not what was written, when it is gone
 * from data `inUse`, as a new one would make every key there invalid without a word, and when it is missing though
 * `isShared`: made here, it would be what the database remembers, and every process with the right one would be
 * refused.
 */
export function openSecrets(path: string, needs: SecretNeeds): Secrets {
  return lookForSecrets(path, needs) ?? derivedFrom(createSecret(path));
}

/** The same without creating anything: a missing secret is refused with one sentence. */
export function readSecrets(path: string, needs: SecretNeeds): Secrets {
  const secrets = lookForSecrets(path, needs);
  if (secrets === undefined)
    throw new Error(`${path} does not exist yet; run darkroom migrate or start the server to create it.`);
  return secrets;
}

/** The same before anything is made: undefined for a secret that may be made here yet. */
export function lookForSecrets(path: string, { inUse, isShared }: SecretNeeds): Secrets | undefined {
  const secret = readSecret(path);
  if (secret !== undefined) return derivedFrom(secret);
  if (inUse)
    throw new Error(
      `${path} is missing, and no API key is valid without it; restore it from a backup, or start with a new one as docs/operating/security.md describes.`,
    );
  if (isShared)
    throw new Error(
      `${path} is missing, and every process of an installation needs the same secret; create it once with openssl rand -hex ${SECRET_BYTES}, and name it in secret_file everywhere.`,
    );
  return undefined;
}

function derivedFrom(master: Buffer): Secrets {
  const derive = (purpose: string) => createHmac('sha256', master).update(purpose).digest();
  return {
    credentials: derive('credentials'),
    objects: derive('objects'),
    fingerprint: derive('fingerprint').toString('hex'),
  };
}

/** A random name in its own file, created by the first caller. */
export function readOrCreateToken(path: string): string {
  return readToken(path) ?? createSecret(path).toString('hex');
}

/** The same name where it was made before. */
export function readToken(path: string): string | undefined {
  return readSecret(path)?.toString('hex');
}

function readSecret(path: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Error(`${path} cannot be read by this user (${code}).`, { cause: error });
  }
  const secret = Buffer.from(text.trim(), 'hex');
  if (secret.length !== SECRET_BYTES)
    throw new Error(`${path} must hold ${SECRET_BYTES} bytes in hex; restore it from a backup.`);
  return secret;
}

function openNew(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    throw new Error(`${path} cannot be written by this user (${(error as NodeJS.ErrnoException).code}).`, {
      cause: error,
    });
  }
}

/** Appears complete or not at all, and two processes that start at the same time end up with the same one. */
function createSecret(path: string): Buffer {
  // A process id would do, were it not the same at each start in a container: what a crash left would be in the way.
  const temporary = `${path}.${randomUUID()}`;
  const file = openNew(temporary);
  writeSync(file, `${randomBytes(SECRET_BYTES).toString('hex')}\n`);
  fsyncSync(file);
  closeSync(file);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  unlinkSync(temporary);
  const secret = readSecret(path);
  if (!secret) throw new Error(`${path} could not be written.`);
  return secret;
}
