// Goal: one history ends in the same answers, states, credits and ledger lines whichever front each of its requests
// uses (invariant 19), and a key that was used over one front is known over the other. Method: random histories of
// requests, a worker's progress, refusals, cancels, uploads and replays, each request over a random front; the same
// history over REST only on another service; everything that a client or an operator can see is compared, with ids
// replaced by their order of appearance. At the end every key is sent again over the other front. A failure prints its
// seed.
import { expect } from 'chai';
import type { JsonObject } from '../../core/json.js';
import { sizeOf } from '../harness/run-sizes.js';
import { type Action, ACTIONS, picture, type Who } from './actions.js';
import { FrontHistory, type Told } from './front-history.js';
import { forAll } from '../harness/for-all.js';

async function compare(actions: readonly Action[]): Promise<Told> {
  const [mixed, rest] = await Promise.all([
    FrontHistory.play(actions, (named) => named),
    FrontHistory.play(actions, () => 'REST'),
  ]);
  for (const [index, answer] of rest.answers.entries())
    expect(mixed.answers[index], `answer ${index}`).to.deep.equal(answer);
  expect(mixed.answers).to.have.length(rest.answers.length);
  expect(mixed.remains, 'what remains').to.deep.equal(rest.remains);
  return mixed;
}

const by = (over: 'REST' | 'gRPC', who: Who = 'owner') => ({ over, who });

/** One action of each kind, so that a run covers every kind whatever else was drawn. */
const WHOLE: readonly Action[] = [
  { do: 'create', ...by('REST'), key: 0, body: picture('picture', 2) },
  { do: 'create', ...by('gRPC'), key: 0, body: picture('picture', 2) },
  { do: 'create', ...by('gRPC'), key: 0, body: picture('picture', 1) },
  { do: 'create', ...by('gRPC'), key: 1, body: picture('picture', 5) },
  { do: 'create', ...by('gRPC', 'poor'), key: 0, body: picture('picture', 4) },
  { do: 'twins', ...by('gRPC'), key: 2, body: picture('picture', 1) },
  { do: 'cancel', ...by('gRPC'), pick: 1 },
  { do: 'look', ...by('gRPC', 'stranger'), pick: 0 },
  { do: 'wait' },
  { do: 'create', ...by('gRPC'), key: 0, body: picture('picture', 2) },
  { do: 'prepare', ...by('gRPC'), key: 0, file: 'png' },
  { do: 'put', pick: 0, file: 'png' },
  { do: 'complete', ...by('REST'), key: 0, pick: 0 },
  { do: 'complete', ...by('gRPC'), key: 0, pick: 0 },
  { do: 'create-with-upload', ...by('gRPC', 'stranger'), key: 0, pick: 0 },
  { do: 'create-with-upload', ...by('gRPC'), key: 3, pick: 0 },
  { do: 'create', ...by('REST'), key: 4, body: picture('picture-held', 1) },
  { do: 'create', ...by('gRPC'), key: 5, body: picture('picture', 1) },
  { do: 'work' },
  { do: 'cancel', ...by('gRPC'), pick: 3 },
  { do: 'create', ...by('gRPC'), key: 6, body: picture('picture-refused', 1) },
  { do: 'look', ...by('gRPC'), pick: 0 },
];

describe('a history has the same result over either front', () => {
  it('with one request of each kind', async () => {
    const { answers, remains } = await compare(WHOLE);
    const codes = new Set(answers.map((told) => ((told as JsonObject)['answer'] as JsonObject | undefined)?.['code']));
    expect([...codes]).to.include.members([
      'OK',
      'IDEMPOTENCY_PAYLOAD_MISMATCH',
      'FIELD_INVALID',
      'CREDITS_INSUFFICIENT',
      'TASK_NOT_FOUND',
      'IDEMPOTENCY_REPLAY_EXPIRED',
      'QUEUE_FULL',
    ]);
    const statuses = new Set(((remains as JsonObject)['generations'] as JsonObject[]).map(({ status }) => status));
    expect([...statuses]).to.have.members(['succeeded', 'failed', 'cancelled']);
  });

  it('for any requests', () =>
    forAll(sizeOf('frontHistories'), [ACTIONS], async (actions) => {
      await compare(actions);
    }));
});
