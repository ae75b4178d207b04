import { pino, stdSerializers, type DestinationStream, type Logger, type SerializedError } from 'pino';
import pretty from 'pino-pretty';
import type { Log } from '../core/log.js';
import type { Config } from './config/config.js';

/**
 * Nothing that opens a door is written down, wherever in a line it stands, nor what an error may carry of the request it
 * came from. A child logger must not name paths of its own: they would take the place of these.
 */
const SECRETS = ['authorization', 'cookie', 'secret', 'credential', 'idempotencyKey', 'url', 'headers', 'request', 'config', 'options']
  .flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/**
 * The process's log: JSON lines on standard error, or readable ones on a terminal. Standard output is the commands' own.
 * `destination` takes JSON lines in place of standard error.
 */
export function createLogger({ level, format }: Config['log'], destination?: DestinationStream): Logger {
  const isPretty = !isForMachines({ format });
  const options = { level, serializers: { err: shownError }, redact: { paths: SECRETS, censor: '[redacted]' }, base: { pid: process.pid }, formatters: { level: (name: string) => ({ level: name }) } };
  return pino(options, destination ?? (isPretty ? readable() : pino.destination({ dest: 2, sync: true })));
}

/** Whether lines are JSON. */
export function isForMachines({ format }: Pick<Config['log'], 'format'>): boolean {
  return format === 'json' || (format === 'auto' && !process.stderr.isTTY);
}

/** As the library shows it, but with what each cause says once: drivers wrap an error in others that repeat its sentence. */
function shownError(error: Error): SerializedError {
  const shown = stdSerializers.err(error);
  if (error instanceof Error) shown.message = sentencesOf(error);
  return shown;
}

/** What an error and its causes say, each once. */
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

function readable(): DestinationStream {
  return pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' });
}

/** What core has to say, as lines of the log. */
export function logTo(logger: Logger): Log {
  const line = ({ error, ...about }: Readonly<Record<string, unknown>>) => (error === undefined ? about : { ...about, err: error });
  return {
    info: (event, about) => logger.info(line(about), event),
    warn: (event, about) => logger.warn(line(about), event),
  };
}
