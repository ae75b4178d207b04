import { type Logger, pino } from 'pino';
import type { JsonObject } from '../../core/json.js';

export interface KeptLog {
  readonly logger: Logger;
  readonly lines: JsonObject[];
  /** The same lines as they are written. */
  readonly texts: string[];
}

/** A logger that keeps its lines in memory. */
export function keptLog(level = 'info'): KeptLog {
  const [lines, texts]: [JsonObject[], string[]] = [[], []];
  const write = (text: string): void => {
    texts.push(text);
    lines.push(JSON.parse(text) as JsonObject);
  };
  return { logger: pino({ level }, { write }), lines, texts };
}
