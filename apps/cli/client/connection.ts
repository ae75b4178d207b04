import { readFileSync, statSync } from 'node:fs';
import { platform } from 'node:os';
import { join, resolve } from 'node:path';
import { Darkroom } from '../../../clients/typescript/src/index.js';
import { ownOrigins } from '../../config/network-address.js';
import { shellWord } from '../../shell-word.js';
import { EXIT, Failure, usageFailure } from '../exit.js';
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

/**
 * Moves the key of an installation to its new address, where the default server is an earlier address of it on this machine.
 * Returns that address; undefined where nothing has moved. `isOurs` says whether the installation knows a key.
 */
export async function moveKey(
  io: CliIo,
  url: string,
  isOurs: (secret: string) => Promise<boolean>,
): Promise<string | undefined> {
  const { keys, lastUrl: from } = readProfile(io);
  if (from === undefined || ownOrigins(from).length === 1 || storedKey(io, url) !== undefined) return undefined;
  const { [from]: secret, ...others } = keys;
  if (secret === undefined || !(await isOurs(secret))) return undefined;
  writeProfile(io, { lastUrl: url, keys: { ...others, [url]: secret } });
  return from;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

export interface ConnectionOptions {
  readonly url?: string;
}

/**
 * The server's address: --url, DARKROOM_URL, the one last logged in to, or this machine. Without a slash at the end.
 */
export function serverUrl(io: CliIo, { url }: ConnectionOptions): string {
  return readUrl(url ?? (io.environment['DARKROOM_URL'] || undefined) ?? readProfile(io).lastUrl ?? DEFAULT_URL);
}

/** A client with the caller's key: DARKROOM_API_KEY, or the one `login` stored for this server. */
export function connect(io: CliIo, options: ConnectionOptions): Darkroom {
  const url = serverUrl(io, options);
  const key = io.environment['DARKROOM_API_KEY']?.trim() || storedKey(io, url);
  if (key === undefined)
    throw usageFailure(`There is no API key for ${url}; run darkroom login --url ${url}, or set DARKROOM_API_KEY.`);
  return new Darkroom({ baseUrl: url, apiKey: readKey(key) });
}

/** Tells a user whose key the server refuses where `connect` found the key, and how to replace it. */
export function keyRemedy(io: CliIo, options: ConnectionOptions): string {
  const login = `darkroom login --url ${shellWord(serverUrl(io, options))}`;
  const remedy = io.environment['DARKROOM_API_KEY']?.trim()
    ? `The key is from DARKROOM_API_KEY: set another, or unset it and run ${login}`
    : `The key is from ${profilePath(io)}: replace it with ${login}`;
  return `${remedy}; on the server, darkroom keys create <app_id> --name <name> makes one.`;
}

/** A server of this machine has several names. */
function storedKey(io: CliIo, url: string): string | undefined {
  const { keys } = readProfile(io);
  const names = new URL(url).pathname === '/' ? ownOrigins(url) : [];
  return [url, ...names].map((name) => keys[name]).find((key) => key !== undefined);
}

/** A client for what needs no key. */
export function connectPublicly(io: CliIo, options: ConnectionOptions): Darkroom {
  return new Darkroom({ baseUrl: serverUrl(io, options) });
}

/** Refuses what cannot stand in a header, without showing it. */
export function readKey(text: string): string {
  const key = text.trim();
  if (!/^[\x21-\x7e]{1,512}$/.test(key)) throw usageFailure('An API key is one word that begins with svc_live_.');
  return key;
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '';
  if (!isPlain)
    throw usageFailure(`The server's address must be an http or https URL, such as ${DEFAULT_URL}, not ${text}.`);
  return url.href.replace(/\/+$/, '');
}

const MAX_PIPED_CHARACTERS = 4_096;
const ENTER = new Set(['\r', '\n', '\u0004']);
const RUB_OUT = new Set(['\b', '\u007f']);
const CTRL_C = '\u0003';

/** One line of stdin: asked for without echo on a terminal, read to its end from a pipe. */
export async function readSecret(io: CliIo, question: string): Promise<string> {
  return io.stdin.isTTY ? ask(io, question) : readPipe(io);
}

async function readPipe({ stdin }: CliIo): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > MAX_PIPED_CHARACTERS) throw new Failure('What was piped in is too long.', EXIT.usage);
  }
  return text.replace(/\r?\n$/, '');
}

function ask({ stdin, stderr }: CliIo, question: string): Promise<string> {
  stderr.write(question);
  stdin.setRawMode?.(true);
  stdin.setEncoding('utf8').resume();
  return new Promise((accept, reject) => {
    let text = '';
    const finish = (end: () => void) => {
      stdin.off('data', onData);
      stdin.setRawMode?.(false);
      stdin.pause();
      stderr.write('\n');
      end();
    };
    const onData = (chunk: string) => {
      for (const character of chunk) {
        if (character === CTRL_C) return finish(() => reject(new Failure('Nothing was stored.', EXIT.cancelled)));
        if (ENTER.has(character)) return finish(() => accept(text));
        text = RUB_OUT.has(character) ? text.slice(0, -1) : text + character;
      }
    };
    stdin.on('data', onData);
  });
}
