import { expect } from 'chai';
import { loadConfig } from '../../../apps/config/load-config.js';
import { stopParts, StopRequest, type StopSignal } from '../../../apps/service/serve.js';

// Goal: one request to stop stops a process gracefully, however many signals arrive for it, and a second request ends
// it.
// Method: a clock that the test moves.

describe('a request to stop', () => {
  const taken = (...signals: readonly (readonly [atMs: number, signal: StopSignal])[]) => {
    let now = 0;
    const request = new StopRequest(() => now);
    return signals.map(([atMs, signal]) => {
      now = atMs;
      return request.take(signal);
    });
  };

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`is one if ${signal} arrives twice together, and two if it arrives again later`, () => {
      expect(taken([0, signal], [0, signal], [500, signal], [501, signal])).to.deep.equal([
        'first',
        'same',
        'same',
        'second',
      ]);
    });

    it(`is a second one when ${signal} is still repeated after half a second`, () => {
      expect(taken([0, signal], [300, signal], [600, signal])).to.deep.equal(['first', 'same', 'second']);
    });
  }

  it('is two when SIGTERM follows Ctrl-C', () => {
    expect(taken([0, 'SIGINT'], [1, 'SIGTERM'])).to.deep.equal(['first', 'second']);
    expect(taken([0, 'SIGTERM'], [1, 'SIGINT'])).to.deep.equal(['first', 'second']);
  });
});

// Goal: a stop reaches every part of a service, whatever one of them throws, and the failure is reported.
// Method: parts that record their calls, one of which fails.

describe('the stop of a service', () => {
  /** The parts that were stopped, in order, and the error that the stop threw; the part with this name fails. */
  async function stopped(failing?: string, hasEnded = true): Promise<readonly unknown[]> {
    const told: unknown[] = [];
    const part = (name: string) => async (): Promise<void> => {
      told.push(name);
      if (name === failing) throw new Error(name);
    };
    const config = await loadConfig({ file: undefined, folder: process.cwd(), environment: {} });
    const worker = part('worker');
    const end = await stopParts({
      http: { close: part('http') },
      grpc: { close: part('grpc') },
      internal: { stopping: () => told.push('not ready'), close: part('internal') },
      worker: { stop: () => worker().then(() => hasEnded) },
      program: {
        close: async (options) => {
          told.push(options);
          await part('program')();
        },
      },
      outages: { close: () => told.push('outages') },
      config,
      logger: { info: (event: string) => told.push(event) } as never,
    }).catch((error: unknown) => told.push((error as Error).message) && 'failed');
    return [...told, end];
  }

  it('releases the folder lock after the last run, and closes the probes last', async () => {
    expect(await stopped()).to.deep.equal([
      'stopping',
      'not ready',
      'worker',
      'http',
      'grpc',
      { keepsLock: false },
      'program',
      'outages',
      'internal',
      'stopped',
      undefined,
    ]);
  });

  it('keeps the folder while runs outlive their grace', async () => {
    expect(await stopped(undefined, false)).to.deep.include({ keepsLock: true });
  });

  for (const failing of ['worker', 'http', 'grpc', 'program'])
    it(`stops all others when the ${failing} fails, and tells it`, async () => {
      const told = await stopped(failing);
      for (const part of ['worker', 'http', 'grpc', 'program', 'outages', 'internal']) expect(told).to.include(part);
      expect(told.slice(-2)).to.deep.equal([failing, 'failed']);
      expect(told).to.not.include('stopped');
      expect(told).to.deep.include({ keepsLock: failing === 'worker' });
    });
});
