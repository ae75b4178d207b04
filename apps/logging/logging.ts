import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { pino, stdSerializers, type Bindings, type DestinationStream, type Logger, type SerializedError } from 'pino';
import type PinoPretty from 'pino-pretty';
import type { Log } from '../../core/log.js';
import type { Config } from '../config/config.js';

/**
 * Credentials are never logged, wherever in a line they occur, nor the request data that an error may carry. Done here
 * and not by pino's redaction: its wildcards cost 75 µs a line.
 */
const SECRETS = new Set([
  'authorization',
  'cookie',
  'secret',
  'credential',
  'idempotencyKey',
  'url',
  'headers',
  'request',
  'config',
  'options',
]);
const REDACTED = '[redacted]';
const REPEATED = '[repeated]';
/** Anything nested deeper is left out of a line entirely. */
const MAX_DEPTH = 6;

/** The destination of a log. One with a file descriptor is written to directly and synchronously. */
export interface LogOutput extends DestinationStream {
  readonly fd?: number;
  readonly isTTY?: boolean;
}

/**
 * The process's log: JSON lines on standard error, or readable ones on a terminal. Standard output is the commands'
 * own.
 */
export function createLogger({ level, format }: Config['log'], output: LogOutput = process.stderr): Logger {
  const options = {
    level,
    base: { pid: process.pid },
    serializers: { err: (error: Error) => redacted(shownError(error)) },
    formatters: { level: (name: string) => ({ level: name }), log: redactedLine, bindings: redacted<Bindings> },
  };
  return pino(options, isForMachines({ format }, output) ? asJson(output) : readable(output));
}

/** Whether lines are JSON. */
export function isForMachines(
  { format }: Pick<Config['log'], 'format'>,
  { isTTY = false }: Pick<LogOutput, 'isTTY'>,
): boolean {
  return format === 'json' || (format === 'auto' && !isTTY);
}

/** An error object is redacted as it is rendered: a copy would no longer be an error. */
function redactedLine({ err, ...line }: Record<string, unknown>): Record<string, unknown> {
  return err === undefined ? redacted(line) : { ...redacted(line), err };
}

/**
 * The value with its secrets replaced; the value itself where there are none. Each object is written once: those that
 * an error carries may refer to one another in any number of ways, and the paths between them grow exponentially.
 */
function redacted<T>(value: T, depth = 0, seen = new Set<object>()): T {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  if (seen.has(value)) return REPEATED as T;
  if (depth === MAX_DEPTH) return REDACTED as T;
  seen.add(value);
  let copy: Record<string, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    const shown: unknown =
      SECRETS.has(name) && member !== undefined ? REDACTED : redacted<unknown>(member, depth + 1, seen);
    if (shown === member) continue;
    copy ??= (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
    copy[name] = shown;
  }
  return (copy as T | undefined) ?? value;
}

/** The library's format, but each cause is reported once: drivers wrap an error in others that repeat its message. */
function shownError(error: Error): SerializedError {
  const shown = stdSerializers.err(error);
  if (error instanceof Error) shown.message = sentencesOf(error);
  return shown;
}

/** The messages of an error and its causes, without repetitions. */
export function sentencesOf(error: Error): string {
  const said: string[] = [];
  for (const { message } of withCauses(error)) {
    const more = message.replace(/\.$/, '');
    if (more !== '' && !said.some((sentence) => sentence.includes(more))) said.push(more);
  }
  return said.length > 1 ? said.join(': ') : error.message;
}

function withCauses(error: Error): readonly Error[] {
  const found = new Set<Error>();
  for (let next: unknown = error; next instanceof Error && !found.has(next); next = next.cause) found.add(next);
  return [...found];
}

function asJson(output: LogOutput): DestinationStream {
  return output.fd === undefined ? output : lossy(output.fd);
}

/** The number of characters that are buffered while nothing can be written; later output is lost. */
const MAX_WAITING = 1024 * 1024;

/** A line that cannot be written, on a full disk for example, changes nothing else: no work may fail for its log. */
function lossy(fd: number): ReturnType<typeof pino.destination> {
  const destination = pino.destination({ dest: fd, sync: true, maxLength: MAX_WAITING });
  // Without a listener an error would be thrown in the code that logs. The library's own listener passes on all but a
  // closed pipe.
  destination.on('error', () => undefined);
  return destination;
}

/** The same as a stream that never fails: the library writes nothing more to one that did. */
function lossyStream(fd: number): Writable {
  const destination = lossy(fd);
  return new Writable({
    decodeStrings: false,
    write: (text: string | Buffer, _encoding, done) => {
      destination.write(String(text));
      done();
    },
  });
}

/** The library is loaded only for human-readable logs. */
function readable(output: LogOutput): DestinationStream {
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  return pretty({
    destination: output.fd === undefined ? output : lossyStream(output.fd),
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss',
  });
}

/** Writes the messages of core to the log. */
export function logTo(logger: Logger): Log {
  const line = ({ error, ...about }: Readonly<Record<string, unknown>>) =>
    error === undefined ? about : { ...about, err: error };
  return {
    info: (event, about) => logger.info(line(about), event),
    warn: (event, about) => logger.warn(line(about), event),
  };
}
