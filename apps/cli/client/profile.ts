import { readFileSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { join, resolve } from 'node:path';
import { Failure } from '../exit.js';
import type { CliIo } from '../io.js';
import { writePrivateFile } from '../private-file.js';

/** API keys by the server they are for, and the server that was last logged in to. */
export interface Profile {
  readonly lastUrl?: string;
  readonly keys: Readonly<Record<string, string>>;
}

const READABLE_BY_OTHERS = 0o077;

/** DARKROOM_PROFILE, or `darkroom/profile.json` in the user's configuration folder. */
export function profilePath({ environment, homeFolder }: CliIo): string {
  const folder = environment['XDG_CONFIG_HOME'] || join(homeFolder, '.config');
  return environment['DARKROOM_PROFILE'] || join(folder, 'darkroom', 'profile.json');
}

/** Empty when there is none. Throws when others may read the file, or it is not what `login` wrote. */
export function readProfile(io: CliIo): Profile {
  const path = profilePath(io);
  const file = resolve(io.folder, path);
  let text: string;
  try {
    const about = statSync(file);
    if (about.isDirectory()) throw new Failure(`${path} is a folder; DARKROOM_PROFILE must name a file.`);
    const { mode } = about;
    if (platform() !== 'win32' && (mode & READABLE_BY_OTHERS) !== 0) {
      throw new Failure(`${path} holds API keys and can be read by others; run chmod 600 ${path} first.`);
    }
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { keys: {} };
    if (error instanceof Failure) throw error;
    throw new Failure(`${path} cannot be read.`);
  }
  const profile = parseProfile(text);
  if (!profile) throw new Failure(`${path} is not a profile; remove it and log in again.`);
  return profile;
}

function parseProfile(text: string): Profile | undefined {
  try {
    const value = JSON.parse(text) as { last_url?: unknown; keys?: unknown } | null;
    const keys = value?.keys;
    if (typeof keys !== 'object' || keys === null || !Object.values(keys).every((key) => typeof key === 'string'))
      return undefined;
    return {
      keys: keys as Record<string, string>,
      ...(typeof value?.last_url === 'string' ? { lastUrl: value.last_url } : {}),
    };
  } catch {
    return undefined;
  }
}

/** Written completely or not at all, and never readable by other users. */
function writeProfile(io: CliIo, profile: Profile): void {
  writePrivateFile(
    profilePath(io),
    io.folder,
    `${JSON.stringify({ last_url: profile.lastUrl, keys: profile.keys }, null, 2)}\n`,
  );
}

/** Adds the key of one server to the profile, and makes that server the one that is meant when none is named. */
export function rememberKey(io: CliIo, url: string, secret: string): void {
  const { keys } = readProfile(io);
  writeProfile(io, { lastUrl: url, keys: { ...keys, [url]: secret } });
}

export interface KeptKey {
  /** Whether another key was kept for this server before; it is kept nowhere any more. */
  readonly replaced: boolean;
  /** Whether this server is the one that is meant when none is named. */
  readonly isDefault: boolean;
}

/** Adds the key of a server without a login. The default server stays as it was, if there was one. */
export function keepFirstKey(io: CliIo, url: string, secret: string): KeptKey {
  const { keys, lastUrl = url } = readProfile(io);
  writeProfile(io, { lastUrl, keys: { ...keys, [url]: secret } });
  return { replaced: Object.hasOwn(keys, url) && keys[url] !== secret, isDefault: lastUrl === url };
}
