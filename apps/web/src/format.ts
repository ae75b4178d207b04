import type { Scope, SignInMethod } from './server-types.js';

const numbers = new Intl.NumberFormat();
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
/** Days of use are UTC days. */
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const clockTimes = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
const preciseTimes = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export const numberText = (value: number): string => numbers.format(value);
/** A part of a whole, such as 0.125, as `12.5%`. */
export const percentText = (part: number): string => percents.format(part);
export const dateText = (time: string): string => dates.format(new Date(time));
export const dayText = (time: string): string => days.format(new Date(time));
export const timeText = (time: string): string => times.format(new Date(time));
/** The time of day in minutes. */
export const hourText = (time: string): string => clockTimes.format(new Date(time));
export const preciseTimeText = (time: string): string => preciseTimes.format(new Date(time));

const clocks = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** The time of day in seconds; with the day for one that is not today. */
export function clockText(time: string): string {
  const at = new Date(time);
  return at.toDateString() === new Date().toDateString() ? clocks.format(at) : preciseTimes.format(at);
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];

export function bytesText(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const format = { style: 'unit', unit: UNITS[power], maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(undefined, format).format(bytes / 1_000 ** power);
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Within this year a day needs no year. */
const shortDays = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** How long ago a time was, such as `2 min ago`; the day for one that is more than a day away. */
export function sinceText(time: string, now: number): string {
  const ago = now - Date.parse(time);
  if (Math.abs(ago) < 60_000) return 'now';
  if (Math.abs(ago) >= DAY_MS) {
    const at = new Date(time);
    return at.getFullYear() === new Date(now).getFullYear() ? shortDays.format(at) : dates.format(at);
  }
  const span = Math.abs(ago);
  const text = span < HOUR_MS ? `${Math.floor(span / 60_000)} min` : `${Math.floor(span / HOUR_MS)} h`;
  return ago < 0 ? `in ${text}` : `${text} ago`;
}

/** A UTC day as its distance from the present one; the date for one before yesterday. */
export function dayAgoText(day: string, now: number): string {
  const ago = Math.floor(now / DAY_MS) - Math.floor(Date.parse(day) / DAY_MS);
  return ago <= 0 ? 'Today' : ago === 1 ? 'Yesterday' : dayText(day);
}

/** The length of a video, `0:06`. */
export function lengthText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The time from one moment to another, both as texts. */
export function ageText(since: string, until: string): string {
  return spanText(Date.parse(until) - Date.parse(since));
}

/** A span of time in milliseconds, as short as it can be said. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  'credits:read': 'See the balance, the ledger and the usage',
  'generations:read': 'See pictures and videos',
  'generations:write': 'Create pictures and videos, which spends credits',
  'uploads:write': 'Upload files',
  'webhooks:manage': 'Manage webhooks',
};
/** In lists, where the sentences have no room. */
export const SCOPE_NAMES: Readonly<Record<Scope, string>> = {
  'credits:read': 'balance',
  'generations:read': 'read',
  'generations:write': 'create',
  'uploads:write': 'upload',
  'webhooks:manage': 'webhooks',
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
