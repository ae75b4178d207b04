// Goal: no log line of any kind contains a secret, at the top level, nested, or in a child's lines; and no work fails for
// a line that cannot be written.
// Method: one recognisable secret under every name that it could have, at every depth that is checked, through logger
// and child.
import { openSync } from 'node:fs';
import { expect } from 'chai';
import { createLogger, logTo } from '../../../apps/logging/logging.js';

const SECRET = 'svc_live_this-must-not-be-written';
const NAMES = [
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
];

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(
    createLogger(
      { level: 'info', format: 'json' },
      {
        write: (line: string) => {
          lines.push(line);
        },
      },
    ),
  );
  return lines.join('');
}

describe('the log', () => {
  for (const format of ['json', 'pretty'] as const)
    it(`loses lines that cannot be written, and fails nobody for it (${format})`, async () => {
      // Every write to it finds the disk full.
      const fd = openSync('/dev/full', 'w');
      const failures: unknown[] = [];
      const note = (error: unknown): void => void failures.push(error);
      process.on('uncaughtException', note);
      const logger = createLogger({ level: 'info', format }, { fd, write: () => undefined });
      for (let line = 0; line < 100; line += 1) logger.warn({ line }, 'a line');
      await new Promise((resolve) => setTimeout(resolve, 20));
      logger.warn('one more');
      process.off('uncaughtException', note);
      expect(failures).to.deep.equal([]);
    });

  for (const name of NAMES) {
    it(`omits ${name}, wherever it occurs`, () => {
      const text = logged((logger) => {
        for (const one of [logger, logger.child({ front: 'rest' })]) {
          one.info({ [name]: SECRET }, 'top');
          one.info({ about: { [name]: SECRET } }, 'within');
          one.info({ about: { err: { [name]: SECRET } } }, 'deeper');
          one.error({ err: Object.assign(new Error('It broke.'), { [name]: SECRET }) }, 'an error that carries it');
        }
        logTo(logger).warn('event', { error: Object.assign(new Error('It broke.'), { [name]: SECRET }) });
      });
      expect(text).not.to.include(SECRET);
      expect(text.match(/\[redacted\]/g)).to.have.length(9);
    });
  }

  it('writes each object that an error carries once, whatever its references, and omits their secrets', () => {
    let reads = 0;
    const objects = Array.from({ length: 30 }, (): Record<string, unknown> => ({
      get counted() {
        return (reads += 1);
      },
    }));
    for (const one of objects) for (const [index, other] of objects.entries()) one[`to${index}`] = other;
    for (const one of objects) one['secret'] = SECRET;
    const text = logged((logger) =>
      logger.error({ err: Object.assign(new Error('It broke.'), { client: objects[0] }) }, 'an error with a graph'),
    );
    expect(reads).to.be.at.most(3 * objects.length);
    expect(text).to.include('It broke.').and.not.include(SECRET);
  });

  it('shows the messages of an error and its causes, each once', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:27017', {
      cause: new Error('connect ECONNREFUSED 127.0.0.1:27017'),
    });
    const messageOf = (error: Error) =>
      (JSON.parse(logged((logger) => logTo(logger).warn('event', { error }))) as { err: Error }).err.message;
    expect(messageOf(new Error('MongoDB could not answer.', { cause: refused }))).to.equal(
      'MongoDB could not answer: connect ECONNREFUSED 127.0.0.1:27017',
    );
    expect(messageOf(new Error('It broke.'))).to.equal('It broke.');
    const circular = new Error('round');
    circular.cause = circular;
    expect(messageOf(circular)).to.equal('round');
  });

  it('names levels and keeps the fields of a line', () => {
    const line = JSON.parse(
      logged((logger) => logTo(logger).info('serving', { address: 'here', generationId: 'g' })),
    ) as Record<string, unknown>;
    expect(line).to.include({ level: 'info', msg: 'serving', address: 'here', generationId: 'g' });
  });
});
