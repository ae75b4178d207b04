/*
 * Goal: an answer with files of hundreds of megabytes is read in memory that does not grow with it.
 * Method: a real server sends 200 MB of JSON with two files to a process of its own, which says how much memory it took, and what it
 * read.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { tellsResidentMemory } from '../../../fixtures/resident-memory.js';
import type { ReadFiles } from './read-files.js';

const PROGRAM = fileURLToPath(new URL('read-files.js', import.meta.url));
const MIB = 1024 * 1024;
/** Above what the process has before it reads. */
const MAX_ADDED_BYTES = 64 * MIB;

describe('an answer with large files', () => {
  const files = [randomBytes(48_000), randomBytes(48_000)];
  /** 64,000 characters each time: 200 MB for both files. */
  const TIMES = { small: 1, large: 1_600 } as const;
  const closes: (() => void)[] = [];
  before(function () {
    if (!tellsResidentMemory) this.skip();
  });
  afterEach(() => void closes.splice(0).map((close) => close()));

  function* document(times: number): Generator<string> {
    yield '{"created":1,"data":[';
    for (const [index, file] of files.entries()) {
      yield `${index === 0 ? '' : ','}{"b64_json":"`;
      const text = file.toString('base64');
      for (let count = 0; count < times; count += 1) yield text;
      yield `","index":${index}}`;
    }
    yield '],"usage":{"total_tokens":7}}';
  }

  async function serving(): Promise<string> {
    const server = createServer(({ url }, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      Readable.from(document(url === '/large' ? TIMES.large : TIMES.small), { objectMode: false }).pipe(response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    closes.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  function digestOf(file: Buffer): string {
    const hash = createHash('sha256');
    for (let count = 0; count < TIMES.large; count += 1) hash.update(file);
    return hash.digest('hex');
  }

  for (const way of ['as it comes', 'spooled']) {
    it(`is read in at most 64 MiB, ${way}`, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, await serving(), way]);
      const { digests, rest, addedBytes } = JSON.parse(stdout) as ReadFiles;
      expect(digests).to.deep.equal(files.map(digestOf));
      expect(rest).to.deep.equal({
        created: 1,
        data: [
          { b64_json: '', index: 0 },
          { b64_json: '', index: 1 },
        ],
        usage: { total_tokens: 7 },
      });
      expect(addedBytes / MIB, 'MiB').to.be.below(MAX_ADDED_BYTES / MIB);
    });
  }
});
