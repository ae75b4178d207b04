import { expect } from 'chai';
import { createApp, createKey } from '../../../core/access/manage.js';
import { HALF_HOUR_MS } from '../../../core/statistics/half-hour.js';
import { generate, OperatorHarness } from './console-harness.js';

// Goal: an operator reads the state of the whole service in one request, and only for a valid range.
// Method: a whole service over HTTP with generations that wait; ranges of every kind.

interface ShownOverview {
  readonly now: string;
  readonly from: string;
  readonly to: string;
  readonly total: object;
  readonly half_hours: readonly { readonly starts_at: string; readonly outcomes: object }[];
  readonly queue: readonly object[];
  readonly longest_waiting: readonly Record<string, unknown>[];
  readonly accounts_near_zero: readonly object[];
}

describe("the overview of the operator's area", () => {
  let harness: OperatorHarness;

  beforeEach(async () => {
    harness = await OperatorHarness.open();
  });

  afterEach(() => harness.close());

  it('has the counts of each half hour, the queue, and the generations that have waited longest', async () => {
    const { service } = harness;
    const { context } = service.harness;
    const { appId } = await createApp(context, { accountId: service.person.accountId, name: 'shop' });
    const { secret } = await createKey(context, { appId, name: 'k' });
    const generationId = await generate(service, secret, 'a kite');
    const client = await harness.signedIn();
    const { status, data } = await client.get('/operator/overview');
    expect(status).to.equal(200);
    const overview = data as unknown as ShownOverview;
    expect(overview.half_hours).to.have.length(48);
    expect(Date.parse(overview.to) % HALF_HOUR_MS).to.equal(0);
    expect(overview.half_hours[0]?.starts_at).to.equal(overview.from);
    expect(overview.total).to.deep.include({
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      failures: [],
      result: { count: 0 },
    });
    expect(overview.total).to.have.nested.property('accept.count', 1);
    expect(overview.queue).to.have.length(1);
    expect(overview.queue[0]).to.deep.include({ model_key: 'picture', queued: 1, requeued: 0, running: 0 });
    expect(overview.longest_waiting).to.have.length(1);
    expect(overview.longest_waiting[0]).to.deep.include({
      generation_id: generationId,
      account_name: 'an account',
      status: 'queued',
      model_key: 'picture',
      reserved_credits: 10,
    });
    expect(overview.longest_waiting[0]).to.not.have.any.keys('prompt', 'worker');
    expect(overview.accounts_near_zero).to.deep.equal([]);
    expect(harness.told, 'reading is not an act').to.deep.equal([]);
  });

  it('refuses malformed times, and ranges that are empty or too long', async () => {
    const client = await harness.signedIn();
    for (const query of [
      'from=yesterday',
      'to=2026-13-01T00:00:00Z',
      'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
      'from=2026-01-01T00:00:00Z&to=2026-01-09T00:00:00Z',
      'since=2026-01-01T00:00:00Z',
    ])
      expect((await client.get(`/operator/overview?${query}`)).code, query).to.equal('FIELD_INVALID');
    const { data } = await client.get('/operator/overview?from=2026-01-01T00:10:00Z&to=2026-01-01T02:00:00Z');
    expect((data as unknown as ShownOverview).half_hours).to.have.length(4);
  });
});
