import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A request that a client has sent, with KEY in place of its key. */
export interface RecordedRequest {
  /** The action of the client's user. */
  readonly during: string;
  readonly method: string;
  /** Path and query; that of a signed address without what is signed. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text?: string;
  /** A body that is not text. */
  readonly base64?: string;
}

export interface Recording {
  readonly client: string;
  readonly requests: readonly RecordedRequest[];
}

/** The file that `node dist/test/clients/openai/open-webui.js` writes. */
export const OPEN_WEBUI = fileURLToPath(
  new URL('../../../../test/fronts/openai/open-webui-requests.json', import.meta.url),
);

export function readRecording(path: string): Recording {
  return JSON.parse(readFileSync(path, 'utf8')) as Recording;
}
