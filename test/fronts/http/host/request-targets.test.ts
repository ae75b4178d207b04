// Goal: any request line is answered with a status below 500, and nothing of it reaches the log.
// Method: targets with valid and invalid beginnings, on raw sockets, against a server whose log and warnings are kept;
// each contains a marker that is searched for afterwards. A failing property prints its seed.
import { expect } from 'chai';
import fc from 'fast-check';
import { pino } from 'pino';
import { openServiceHarness, type ServiceHarness } from '../../../harness/service-harness.js';
import { exchange, parseAnswer } from './raw-socket.js';
import { serve, type RunningServer } from './rest-client.js';

const SIGNATURE = 'word-of-a-signature';
const BEGINNINGS = [
  '',
  '/',
  '//',
  '//a@',
  '//%zz@',
  '///',
  '*',
  'http:',
  'http:/',
  'http://',
  'http://[',
  'http://a:b',
  'http://%zz@a',
  'HTTPS://a',
  'ws://',
  'javascript:',
  'example.com:80',
  '/objects/',
  '/api/v1/developer/generations/',
  '\\\\',
  '#',
];
const WORDS = [
  '[',
  ']',
  ':',
  '::1',
  '@',
  '%',
  '%zz',
  '%00',
  '%e2%80',
  '?',
  '&',
  '=',
  '#',
  '/',
  '..',
  '\\',
  '|',
  '"',
  '<',
  '{',
  '`',
  '^',
  '\u00a0',
  '\u00ff',
  '\t',
  'a',
  '99999',
  ';',
];

describe('REST reads the target of a request', () => {
  let harness: ServiceHarness;
  let running: RunningServer;
  const told: string[] = [];
  const take = (warning: Error): void => {
    told.push(String(warning));
  };

  before(async () => {
    harness = await openServiceHarness();
    const logger = pino(
      { level: 'trace' },
      {
        write: (line: string) => {
          told.push(line);
        },
      },
    );
    running = await serve(harness, { logger });
    process.on('warning', take);
  });
  after(async () => {
    process.off('warning', take);
    await running.server.close(1_000);
    await harness.close();
  });

  const ask = async (method: string, target: string): Promise<number> =>
    parseAnswer(
      await exchange(
        running.port,
        Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 'latin1'),
      ),
    ).status;

  it('answers every target with a refusal or its own answer, and logs none of it', async () => {
    const target = fc.tuple(
      fc.constantFrom(...BEGINNINGS),
      fc.array(fc.oneof(fc.constantFrom(...WORDS), fc.constant(SIGNATURE)), { maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('GET', 'POST', 'PUT', 'OPTIONS'), target, async (method, [beginning, words]) => {
        expect(await ask(method, beginning + words.join(''))).to.be.within(200, 499);
      }),
      { numRuns: 1_500 },
    );
    expect(told.length).to.be.at.least(1);
    expect(told.join('')).to.not.include(SIGNATURE).and.not.include('at Object');
  });

  it('refuses a malformed address without repeating it', async () => {
    const before = told.length;
    expect(await ask('GET', `http://[/objects/x?signature=${SIGNATURE}`)).to.equal(400);
    const lines = told.slice(before).join('');
    expect(lines)
      .to.include('"status":400')
      .and.not.include(SIGNATURE)
      .and.not.include('http://')
      .and.not.include('stack');
  });
});
