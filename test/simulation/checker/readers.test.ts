// Goal: the checker finds an event of something that has not happened, of another App, or out of order, an end that a follower
// never heard of, and use that is not the ledger's; it finds nothing where all is as it must be.
// Method: the checker observes real core on memory adapters, and is then shown events and answers that core did not give.
import type { EventType } from '../../../core/generation/events.js';
import type { JsonObject } from '../../../core/json.js';
import type { Answer } from '../observed.js';
import { CheckedService } from './checked-service.js';

describe('the checker of what readers are told', () => {
  let checked: CheckedService;
  let version: number;
  beforeEach(async () => {
    checked = await CheckedService.open();
    version = 0;
  });

  const heard = (shown: { readonly appId?: string; readonly stream?: number }, event: object): Promise<void> =>
    checked.noting(() =>
      checked.checker.heard({
        at: checked.now,
        follower: 'f',
        appId: shown.appId ?? checked.caller.appId,
        stream: shown.stream ?? 1,
        event: event as Parameters<typeof checked.checker.heard>[0]['event'],
      }),
    );
  const begins = (): Promise<void> => heard({}, { type: 'beat', id: 'begins' });
  async function tell(generationId: string, type: EventType, shown: Parameters<typeof heard>[0] = {}): Promise<void> {
    version += 1;
    const generation = { ...(await checked.harness.generation(generationId)), version };
    await heard(shown, { type, at: checked.now, id: type, generation });
  }
  const rest = (): Promise<void> => checked.noting(() => checked.checker.atRest(checked.now));

  it('finds nothing where each end is told, though it is told again by another stream', async () => {
    await begins();
    const id = await checked.created('one');
    await checked.finished(id);
    for (const type of ['queued', 'running', 'ended'] as const) await tell(id, type);
    for (const type of ['running', 'ended'] as const) await tell(id, type, { stream: 2 });
    await rest();
    checked.expectNothing();
  });

  it('23: finds an end that was not told, but for what ended before the follower began', async () => {
    await checked.finished(await checked.created('one'));
    await checked.harness.clock.advance(1);
    await begins();
    await rest();
    checked.expectNothing();
    await checked.harness.clock.advance(1);
    await checked.finished(await checked.created('two'));
    await rest();
    checked.expectFirst(23, 'never heard');
  });

  it('23: finds an event of what has not happened', async () => {
    await tell(await checked.created('one'), 'ended');
    checked.expectFirst(23, 'which is queued');
  });

  it('23: finds an event of another App', async () => {
    const { appId } = await checked.newCaller(1);
    await tell(await checked.created('one'), 'queued', { appId });
    checked.expectFirst(23, 'which is of App');
  });

  it('23: finds a start that is told after the end, and an older version after a newer one', async () => {
    const id = await checked.created('one');
    await checked.finished(id);
    await tell(id, 'ended');
    await tell(id, 'running');
    checked.expectFirst(23, 'hears running');
    const other = await CheckedService.open();
    checked = other;
    const two = await other.created('one');
    await other.finished(two);
    await tell(two, 'running');
    version = -1;
    await tell(two, 'ended');
    other.expectFirst(23, 'after version');
  });

  it('28: finds use that is more or less than the ledger has, and a row that nothing belongs to', async () => {
    await checked.finished(await checked.created('one'));
    const ask = (change: (data: JsonObject) => JsonObject) =>
      checked.ask(
        { operation: 'usage', by: 'model' },
        {
          twist: (answer): Answer => (answer.outcome === 'success' ? { ...answer, data: change(answer.data) } : answer),
        },
      );
    await ask((data) => data);
    checked.expectNothing();
    await ask((data) => ({ ...data, total: { ...(data['total'] as JsonObject), generations: 2 } }));
    checked.expectFirst(28, 'has 2 generations in all');
    const [less, more] = [await CheckedService.open(), await CheckedService.open()];
    checked = less;
    await less.created('one');
    await ask((data) => ({ ...data, usage: [] }));
    less.expectFirst(28, 'has 0 generations of model_key');
    checked = more;
    await ask((data) => ({ ...data, usage: [{ model_key: 'unknown' }] }));
    more.expectFirst(28, 'no entry belongs to');
  });
});
