import { Darkroom } from '../../../clients/typescript/src/index.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { readProfile } from './profile.js';

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
  const key = io.environment['DARKROOM_API_KEY']?.trim() || readProfile(io).keys[url];
  if (key === undefined)
    throw usageFailure(`There is no API key for ${url}; run darkroom login --url ${url}, or set DARKROOM_API_KEY.`);
  return new Darkroom({ baseUrl: url, apiKey: readKey(key) });
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
