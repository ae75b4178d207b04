import { expect } from 'chai';
import { conditionOf, PROVIDER_STATES, type SeenByWorker, shownError } from '../../../core/providers/provider-state.js';
import type { ProviderHealth } from '../../../core/providers/provider-use.js';

// Goal: each state of a provider has its word and a reason, and no reason has an address's path, user or key.
// Method: what one or several workers see, case by case.

const NOW = 1_000_000;
const seen = (health: Partial<ProviderHealth> = {}, tasks = 0, waiting = 0): SeenByWorker => ({
  health: { circuit: 'closed', ...health },
  tasks,
  waiting,
});
const silent = (count: number, changes: Partial<ProviderHealth> = {}): Partial<ProviderHealth> => ({
  circuit: 'paused',
  pausedUntil: NOW + 5_000,
  fault: { kind: 'silent', count, since: NOW - 9_000 },
  lastError: { at: NOW - 1, message: 'POST https://me:secret@gpu.example:8188/prompt?key=abc: status 503' },
  lastCallAt: NOW - 1,
  ...changes,
});
const condition = (workers: readonly SeenByWorker[], limits = {}, earlier?: number) =>
  conditionOf(workers, { limits, earlier, now: NOW });

describe('the state of a provider', () => {
  const seenStates = new Set<string>();
  const expectState = (found: ReturnType<typeof condition>, expected: object): void => {
    seenStates.add(found.state);
    expect(found).to.deep.equal(expected);
    expect(found.reason).to.not.match(/\bclosed\b|\bopen\b|half-open|secret|key=|prompt\?/);
  };

  it('is healthy with tasks, or called in the last minute', () => {
    expectState(condition([seen({ lastCallAt: NOW - 5 }, 2)]), {
      state: 'healthy',
      reason: 'Ready.',
      lastCallAt: NOW - 5,
    });
    expectState(condition([seen({ lastCallAt: NOW - 59_000 })]), {
      state: 'healthy',
      reason: 'Ready.',
      lastCallAt: NOW - 59_000,
    });
    expectState(condition([seen({}, 0, 1)]), { state: 'healthy', reason: 'Ready.' });
  });

  it('is idle without tasks, with its last use', () => {
    expectState(condition([seen({ lastCallAt: NOW - 61_000 })]), {
      state: 'idle',
      reason: 'Ready.',
      lastCallAt: NOW - 61_000,
    });
    expectState(condition([], {}, NOW - 70_000), { state: 'idle', reason: 'Ready.', lastCallAt: NOW - 70_000 });
    expectState(condition([]), { state: 'idle', reason: 'Ready. Not used in the last hour.' });
  });

  it('is slowed by a limit that is reached, or by a part of the workers', () => {
    const limits = { maxConcurrent: 8, maxSubmissionsPerMinute: 50 };
    expectState(condition([seen({}, 8, 3)], limits), {
      state: 'slowed',
      reason: 'All 8 places are in use, and 3 generations wait.',
    });
    expectState(condition([seen({}, 2, 1)], limits), {
      state: 'slowed',
      reason: 'At most 50 tasks are submitted in a minute, and 1 generation waits.',
    });
    expectState(condition([seen(silent(5)), seen({}, 1)]), {
      state: 'slowed',
      reason: 'Paused in 1 of 2 workers. 5 calls in a row had no usable answer: POST gpu.example:8188 status 503.',
      pausedUntil: NOW + 5_000,
      failingSince: NOW - 9_000,
      lastCallAt: NOW - 1,
    });
  });

  it('is paused with the end of the pause and the last error', () => {
    const fault = { kind: 'full', count: 25, since: NOW - 60_000 } as const;
    const lastError = { at: NOW, message: 'It is full' };
    expectState(condition([seen(silent(0, { fault, lastError })), seen(silent(5, { pausedUntil: NOW + 9_000 }))]), {
      state: 'paused',
      reason: '25 tasks in a row were refused for lack of capacity: It is full.',
      pausedUntil: NOW + 5_000,
      failingSince: NOW - 60_000,
      lastCallAt: NOW - 1,
    });
  });

  it('is paused by what a worker of an earlier release reports', () => {
    const lastError = { at: NOW, message: 'No answer.' };
    expectState(condition([seen({ circuit: 'paused', pausedUntil: NOW + 1, lastError })]), {
      state: 'paused',
      reason: 'The last error: No answer.',
      pausedUntil: NOW + 1,
    });
    for (const health of [{}, { lastError: { at: NOW, message: ' ' } }])
      expectState(condition([seen({ circuit: 'paused', ...health })]), {
        state: 'paused',
        reason: 'Its last calls failed.',
      });
  });

  it('is tried again after a pause', () => {
    const fault = { kind: 'full', count: 1, since: NOW - 2 } as const;
    expectState(condition([seen({ circuit: 'trying', fault })]), {
      state: 'trying',
      reason: 'One task is submitted at a time until one is accepted. A task was refused for lack of capacity.',
      failingSince: NOW - 2,
    });
  });

  it('is unreachable after eleven calls without an answer', () => {
    const { state, reason } = condition([seen(silent(11))]);
    seenStates.add(state);
    expect([state, reason]).to.deep.equal([
      'unreachable',
      '11 calls in a row had no usable answer: POST gpu.example:8188 status 503.',
    ]);
    expect(condition([seen(silent(10))]).state).to.equal('paused');
  });

  it('has every word in these tests', () => {
    expect([...seenStates].toSorted()).to.deep.equal([...PROVIDER_STATES].toSorted());
  });
});

describe('the text of an error', () => {
  it('has of addresses only their hosts, no control characters, and a bounded length', () => {
    const shown = (message: string) => shownError(message);
    expect(shown('GET http://10.0.0.7:1234/queue?token=x failed')).to.equal('GET 10.0.0.7:1234 failed.');
    expect(shown('see wss://user:pass@host.example/ws#a, twice')).to.equal('see host.example twice.');
    expect(shown('https://[::1]:80/x')).to.equal('[::1]:80.');
    expect(shown('line\n\u001b[2Jnext')).to.equal('line [2Jnext.');
    expect(shown('Is it up?')).to.equal('Is it up?');
    expect(shown('x'.repeat(500))).to.have.length(200);
  });
});
