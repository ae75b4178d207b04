/**
 * Goal: the history checker finds each way in which a webhook or an event stream sends a client something wrong, late
 * or never, and reports nothing when every guarantee is kept. Method: the clean history with endpoints that received
 * everything, and a client that followed it, and the same with one of these wrong.
 */
import { expect } from 'chai';
import { EXPECTED } from '../../faults/clients/wishes.js';
import type { JsonObject } from '../../../core/json.js';
import { textOf } from '../values.js';
import { checkHistory } from './check-history.js';
import { GENERATION_CASES, IDS, RICH } from './clean-cases.js';
import { cleanHistory, type Draft, QUIET_AT } from './clean-history.js';
import { asked, dataOf, type HistoryDraft, the } from './draft-changes.js';
import type { LoggedDelivery, Message, SeenStream, SeenWebhooks, StreamedEvent } from './history.js';

const ENDS = ['generation.succeeded', 'generation.failed', 'generation.cancelled'];
const OWN = GENERATION_CASES.filter(({ owner }) => owner === RICH);
const shown = (draft: HistoryDraft, id: string): JsonObject => dataOf(asked(draft, 'get', id));

function message(draft: HistoryDraft, endpoint: string, id: string, at: number): Message {
  const task = structuredClone(shown(draft, id));
  const type = `generation.${textOf(task['status'])}`;
  return { endpoint, at, id: `msg ${type} ${id} ${endpoint}`, type, task, answered: { at: at + 1, status: 200 } };
}

/** `all` received a start and every end, `gone` only the first end. */
function webhooksOf(draft: HistoryDraft): SeenWebhooks {
  const [first] = OWN;
  const start = { ...message(draft, 'all', the(first).generationId, 2_000) };
  const running = { ...start, type: 'generation.running', id: 'msg start', task: { ...start.task, ...RUNNING } };
  const ends = OWN.map(({ generationId, endedAt }) => message(draft, 'all', generationId, endedAt + 30));
  const gone = { ...message(draft, 'gone', the(first).generationId, 3_040), answered: { at: 3_050, status: 410 } };
  const delivery =
    (endpoint: string, state: string) =>
    (one: (typeof OWN)[number]): LoggedDelivery => ({
      endpoint,
      generationId: one.generationId,
      event: `generation.${one.status}`,
      state,
    });
  return {
    endpoints: [
      {
        name: 'all',
        webhookId: 'w1',
        by: 'rich',
        events: ['generation.running', ...ENDS],
        madeAt: 500,
        conduct: 'takes',
      },
      { name: 'gone', webhookId: 'w2', by: 'rich', events: ENDS, madeAt: 500, conduct: 'leaves' },
    ],
    messages: [running, ...ends, gone].sort((a, b) => a.at - b.at),
    deliveries: [...OWN.map(delivery('all', 'delivered')), ...OWN.map(delivery('gone', 'disabled'))],
    disabledBecause: { gone: 'gone' },
    followedRedirects: 0,
  };
}

const RUNNING: JsonObject = {
  status: 'running',
  updated_at: '1970-01-01T00:00:01.150Z',
  completed_at: undefined as never,
  poll_after_ms: 2_000,
  charged_credits: 0,
  outputs: [],
};

/** A follower of the App over two connections, and a follower of one generation over two. */
function streamsOf(draft: HistoryDraft): SeenStream[] {
  const event = (id: string, type: string, at: number): StreamedEvent => ({
    at,
    id: `${id} ${type}`,
    type,
    task:
      type === 'ended' ? shown(draft, id) : { ...shown(draft, id), ...RUNNING, updated_at: '1970-01-01T00:00:01.000Z' },
  });
  const [first, ...others] = OWN.map(({ generationId }) => generationId);
  const id = the(first);
  const app = { follower: 'app', by: 'rich', through: 'rest-1' };
  const one = { follower: 'one', by: 'rich', through: 'rest-2', generationId: id };
  return [
    { ...app, openedAt: 600, events: [event(id, 'queued', 1_010), event(id, 'running', 1_100)] },
    {
      ...app,
      openedAt: 2_900,
      after: `${id} running`,
      events: [event(id, 'ended', 3_060), ...others.map((other) => event(other, 'ended', QUIET_AT))],
    },
    { ...one, openedAt: 1_050, events: [event(id, 'queued', 1_060)] },
    {
      ...one,
      openedAt: 1_080,
      after: `${id} queued`,
      events: [event(id, 'running', 1_160), event(id, 'ended', 3_070)],
    },
  ];
}

interface Told {
  readonly webhooks: Draft<SeenWebhooks>;
  readonly app: Draft<SeenStream>;
  readonly resumed: Draft<SeenStream>;
  readonly one: Draft<SeenStream>;
}

function found(change: (told: Told, draft: HistoryDraft) => void = () => undefined): number[] {
  const draft = cleanHistory();
  const webhooks = structuredClone(webhooksOf(draft)) as Draft<SeenWebhooks>;
  const streams = structuredClone(streamsOf(draft)) as Draft<SeenStream>[];
  draft.webhooks = webhooks;
  draft.streams = streams;
  const [app, resumed, , one] = streams;
  change({ webhooks, app: the(app), resumed: the(resumed), one: the(one) }, draft);
  return [...new Set(checkHistory(draft, EXPECTED).map(({ invariant }) => invariant))];
}

const messageOf = ({ webhooks }: Told, id: string, endpoint = 'all'): Draft<Message> =>
  the(webhooks.messages.findLast((one) => one.endpoint === endpoint && one.task['generation_id'] === id));
const deliveryOf = ({ webhooks }: Told, id: string, endpoint = 'all'): Draft<LoggedDelivery> =>
  the(webhooks.deliveries.find((one) => one.endpoint === endpoint && one.generationId === id));

/** Changes that each introduce one fault, by a description of the fault. */
const WEBHOOKS: Readonly<Record<string, (told: Told, draft: HistoryDraft) => void>> = {
  'an end has no delivery': ({ webhooks }) => webhooks.deliveries.shift(),
  'a delivery waits at rest': (told) => (deliveryOf(told, IDS.failed).state = 'retrying'),
  'a delivery tells an older event': (told) => (deliveryOf(told, IDS.failed).event = 'generation.running'),
  'what nobody took counts as delivered': (told) => (messageOf(told, IDS.failed).answered = { at: 6_040, status: 500 }),
  'what nobody answered counts as delivered': (told) => delete messageOf(told, IDS.failed).answered,
  'a delivery is disabled, and its webhook is not': (told) => (deliveryOf(told, IDS.failed).state = 'disabled'),
  'an end is told before its time': (told) => (messageOf(told, IDS.failed).at = 5_900),
  'an end is told that was not for good': ({ webhooks }, draft) => {
    const look = asked(draft, 'get', IDS.failed, 0);
    Object.assign(look, { sentAt: 6_035 });
    look.answered.at = 6_036;
    webhooks.messages = webhooks.messages.filter((one) => one.task['generation_id'] !== IDS.failed || one.at < 7_000);
    Object.assign(dataOf(look), RUNNING);
  },
  'a start is told after the end': ({ webhooks }) => {
    const start = the(webhooks.messages[0]);
    webhooks.messages = [...webhooks.messages.slice(1), { ...start, at: 4_000 }];
  },
  'an older task is told after a newer one': (told) => {
    const again = structuredClone(messageOf(told, IDS.failed));
    again.task['updated_at'] = '1970-01-01T00:00:05.500Z';
    told.webhooks.messages.push({ ...again, at: 7_000 });
  },
  'a message is not signed': (told) => (messageOf(told, IDS.failed).signatureFault = 'No matching signature found'),
  'a message comes under another id in its second attempt': (told) =>
    told.webhooks.messages.push({ ...messageOf(told, IDS.failed), id: 'msg another', at: 7_000 }),
  'two messages come under one id': (told) => (messageOf(told, IDS.failed).id = messageOf(told, IDS.stopped).id),
  "another App's generation is told": (told, draft) =>
    told.webhooks.messages.push({ ...message(draft, 'all', IDS.poor, 31_000) }),
  'an endpoint is told what it does not want': ({ webhooks }) => {
    the(webhooks.messages[0]).endpoint = 'gone';
  },
  'a task is not the one that GET shows': (told) => (messageOf(told, IDS.succeeded).task['outputs'] = []),
  'a type is not that of the task': (told) => (messageOf(told, IDS.failed).type = 'generation.succeeded'),
  'a redirect is followed': ({ webhooks }) => (webhooks.followedRedirects = 1),
  'one that has gone is called for ever': ({ webhooks }) => (webhooks.disabledBecause['gone'] = undefined),
  'one that takes all is disabled': ({ webhooks }) => (webhooks.disabledBecause['all'] = 'failing'),
};

const STREAMS: Readonly<Record<string, (told: Told, draft: HistoryDraft) => void>> = {
  'an end is told on no connection': ({ resumed }) => resumed.events.pop(),
  'a stream tells a start after the end': ({ app, resumed }) =>
    resumed.events.push({ ...the(app.events[1]), at: QUIET_AT }),
  'a stream tells an event twice on one connection': ({ app }) => app.events.push(the(app.events[1])),
  'a stream tells an older task after a newer one': ({ app }) => {
    the(app.events[1]).task['updated_at'] = '1970-01-01T00:00:00.900Z';
  },
  'an end is told that has not come': ({ resumed }) => Object.assign(the(resumed.events[0]).task, RUNNING),
  'an end is told that was not for good': ({ resumed }, draft) => {
    const look = asked(draft, 'get', IDS.succeeded, 1);
    Object.assign(look, { sentAt: 3_065 });
    look.answered.at = 3_066;
    the(resumed.events[0]).at = 3_060;
  },
  "a stream tells another App's generation": ({ resumed }, draft) =>
    resumed.events.push({ at: QUIET_AT, id: 'x', type: 'ended', task: dataOf(asked(draft, 'get', IDS.poor)) }),
  'one that resumes behind an event is told it again': ({ one, app }) => one.events.unshift(the(app.events[0])),
  'one that follows a generation never hears of its end': ({ one }) => one.events.pop(),
};

describe('the history checker for receivers', () => {
  it('finds nothing where everybody is notified in time and in order', () => {
    expect(found()).to.deep.equal([]);
  });

  for (const [what, make] of Object.entries(WEBHOOKS))
    it(`finds of webhooks that ${what}`, () => {
      expect(found(make)).to.include.oneOf([27, 15]);
    });

  for (const [what, make] of Object.entries(STREAMS))
    it(`finds of streams that ${what}`, () => {
      expect(found(make)).to.include(23);
    });

  it('takes a delivery for done that was tried as often as it may be, and does not know of other endpoints', () => {
    const exhausted = (told: Told) => {
      deliveryOf(told, IDS.failed).state = 'exhausted';
      messageOf(told, IDS.failed).answered = { at: 6_040, status: 500 };
    };
    expect(found(exhausted)).to.deep.equal([]);
    expect(found(({ webhooks }) => void (the(webhooks.messages[0]).endpoint = 'nobody'))).to.deep.equal([27]);
  });

  it('accepts what a client requested before it followed, and repetitions on another connection', () => {
    const late = ({ app, resumed }: Told) => {
      delete resumed.after;
      Object.assign(resumed, { openedAt: QUIET_AT, events: [] });
      app.events = [];
    };
    expect(found(late)).to.deep.equal([]);
    expect(found(({ app, resumed }) => void resumed.events.unshift(the(app.events[1])))).to.deep.equal([]);
  });
});
