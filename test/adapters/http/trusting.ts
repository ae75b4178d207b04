/*
 * A program that asks servers of the loopback, trusting the authority in a file where it is given one, and prints a status or the kind
 * of the failure for each: what a process trusts otherwise is read when it starts.
 */
import { readFileSync } from 'node:fs';
import { HttpClient } from '../../../adapters/http/http-client.js';
import { HttpError } from '../../../adapters/http/http-error.js';
import { get } from './client.js';

const [caFile = '', ...urls] = process.argv.slice(2);
const client = new HttpClient({
  allow: ['127.0.0.0/8'],
  extraCa: caFile === '' ? [] : [readFileSync(caFile, 'utf8')],
  resolve: async () => [{ address: '127.0.0.1', family: 4 }],
});
const outcomes: unknown[] = [];
for (const url of urls) {
  const outcome = await get(client, url).then(
    ({ status }) => status,
    (error: unknown) => (error instanceof HttpError ? error.kind : String(error)),
  );
  outcomes.push(outcome);
}
await client.close();
process.stdout.write(JSON.stringify(outcomes));
