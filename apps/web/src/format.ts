import type { Scope, SignInMethod } from './server-types.js';

const numbers = new Intl.NumberFormat();
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
/** Days of use are UTC days. */
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const preciseTimes = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export const numberText = (value: number): string => numbers.format(value);
export const dateText = (time: string): string => dates.format(new Date(time));
export const dayText = (time: string): string => days.format(new Date(time));
export const timeText = (time: string): string => times.format(new Date(time));
export const preciseTimeText = (time: string): string => preciseTimes.format(new Date(time));

/** A span of time in milliseconds, as short as it can be said. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  'credits:read': 'See the balance, the ledger and the usage',
  'generations:read': 'See pictures and videos',
  'generations:write': 'Make pictures and videos, which spends credits',
  'uploads:write': 'Upload files',
  'webhooks:manage': 'Manage webhooks',
};

export const METHOD_TEXTS: Readonly<Record<SignInMethod, string>> = {
  password: 'with a password',
  link: 'by a sign-in link',
  passkey: 'with a passkey',
  provider: 'through an outside provider',
};

const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdg\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\biPhone|\biPad/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/** A short name for a browser, or its user agent if it is unknown. */
export function browserText(userAgent: string): string {
  const nameIn = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)];
  if (browser === undefined) return userAgent === '' ? 'An unnamed browser' : userAgent;
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** The text of a form's field. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}
