// Goal: the rules that the simulation and the fault runs share find each fault that they are for, and nothing else.
// Method: a valid short ledger and two valid views of a task, and copies with one fault each.
import { expect } from 'chai';
import type { Entry } from '../../core/credits/account.js';
import {
  checkDenial,
  checkEffect,
  checkKeyUsed,
  checkMismatch,
  checkOrigin,
  checkReference,
  checkSubject,
  effectOf,
  type ForeignAnswer,
  ForeignAnswers,
  payloadOf,
} from './access.js';
import { invariantsOf } from './finding.js';
import {
  AccountLedger,
  attributionOf,
  checkAccepted,
  checkAttribution,
  checkBalance,
  checkShortage,
  type GenerationMoney,
} from './ledger.js';
import { checkWanted } from './notifications.js';
import {
  checkCharge,
  checkEndedHold,
  checkHeldAtRest,
  checkLedgerCharge,
  checkReserved,
  type PricedModel,
  priceOf,
  priceOfOutputs,
  sizeAsked,
  wantedOutputs,
  withDefaults,
} from './prices.js';
import { brokenBy, checkShown, rankOf, type Shown } from './task.js';

const COMMON = { accountId: 'a', at: 1 };
const LEDGER: readonly Entry[] = [
  {
    ...COMMON,
    sequence: 1,
    kind: 'grant',
    from: 'issued',
    to: 'available',
    credits: 10,
    availableAfter: 10,
    operationId: 'o',
    reason: 'r',
  },
  {
    ...COMMON,
    sequence: 2,
    kind: 'hold',
    from: 'available',
    to: 'reserved',
    credits: 4,
    availableAfter: 6,
    generationId: 'g',
  },
  {
    ...COMMON,
    sequence: 3,
    kind: 'charge',
    from: 'reserved',
    to: 'spent',
    credits: 3,
    availableAfter: 6,
    generationId: 'g',
  },
  {
    ...COMMON,
    sequence: 4,
    kind: 'release',
    from: 'reserved',
    to: 'available',
    credits: 1,
    availableAfter: 7,
    generationId: 'g',
  },
];

function inLedger(entries: readonly Entry[]): number[] {
  const ledger = new AccountLedger('a', new Map());
  return entries.flatMap((entry) => invariantsOf(ledger.add(entry)));
}

function changed(index: number, change: Partial<Entry>): number[] {
  return inLedger(LEDGER.map((entry, at) => (at === index ? { ...entry, ...change } : entry)));
}

describe('the ledger of an account', () => {
  it('finds nothing wrong in a sound ledger', () => {
    expect(inLedger(LEDGER)).to.deep.equal([]);
  });

  it('finds an entry that is missing, or of another account', () => {
    expect(inLedger(LEDGER.slice(1))).to.include(1);
    expect(changed(0, { accountId: 'b' })).to.deep.equal([1]);
  });

  it('finds a wrong balance, a wrong book and a fraction', () => {
    expect(changed(1, { availableAfter: 7 })).to.deep.equal([1]);
    expect(changed(3, { to: 'spent' })).to.include(1);
    expect(changed(1, { credits: 0.5 })).to.include(2);
  });

  it('finds a book below zero', () => {
    expect(changed(1, { credits: 11, availableAfter: -1 })).to.include(2);
  });

  it('finds a second hold, a second charge and a release of more than is held', () => {
    expect(
      inLedger([
        ...LEDGER,
        {
          ...COMMON,
          sequence: 5,
          kind: 'hold',
          from: 'available',
          to: 'reserved',
          credits: 1,
          availableAfter: 6,
          generationId: 'g',
        },
      ]),
    ).to.deep.equal([4]);
    expect(changed(3, { kind: 'charge', to: 'spent', availableAfter: 6 })).to.include(5);
    expect(changed(3, { credits: 2, availableAfter: 8 })).to.include(4);
    const [grant, hold, , release] = LEDGER;
    const parts = [
      { credits: 1, availableAfter: 7 },
      { credits: 3, availableAfter: 10 },
    ];
    const inParts = parts.map((part, index) => ({ ...(release as Entry), ...part, sequence: 3 + index }));
    expect(inLedger([grant as Entry, hold as Entry, ...inParts])).to.deep.equal([4]);
  });

  it('finds a hold that is ended at two times', () => {
    expect(changed(3, { at: 2 })).to.deep.equal([4]);
    const nothing = { ...(LEDGER[3] as Entry), credits: 0, availableAfter: 6, at: 2 };
    const chargedWhole = { ...(LEDGER[2] as Entry), credits: 4 };
    expect(inLedger([...LEDGER.slice(0, 2), chargedWhole, nothing])).to.deep.equal([4]);
  });

  it('finds a charge without a hold', () => {
    expect(changed(2, { generationId: 'h' })).to.include(4);
  });
});

describe('a stored account', () => {
  const ledger = new AccountLedger('a', new Map());
  for (const entry of LEDGER.slice(0, 2)) ledger.add(entry);
  const hold = { generationId: 'g', credits: 4, heldAt: 1 };
  const stored = { issued: 10, available: 6, reserved: 4, spent: 0, lastSequence: 2, holds: new Map([['g', hold]]) };
  const found = (change: Partial<typeof stored>) => invariantsOf(ledger.check({ ...stored, ...change }));

  it('is the sum of its entries', () => {
    expect(found({})).to.deep.equal([]);
  });

  it('has no other credits, last entry or holds', () => {
    for (const wrong of [{ issued: 11 }, { available: 5 }, { reserved: 4.5 }, { spent: 1 }, { lastSequence: 3 }])
      expect(found(wrong), JSON.stringify(wrong)).to.deep.equal([1]);
    expect(found({ holds: new Map() })).to.deep.equal([4]);
    expect(found({ holds: new Map([['g', { ...hold, credits: 3 }]]) })).to.deep.equal([4]);
    expect(found({ holds: new Map([['h', { ...hold, generationId: 'h' }]]) })).to.deep.equal([4]);
  });
});

describe('what credits are attributed to', () => {
  const requests = [
    attributionOf({ credentialId: 'k1', appId: 'a' }, { model_key: 'm', client_trace_id: 't' }),
    attributionOf({ credentialId: 'k2', appId: 'a' }, { model_key: 'm', client_trace_id: 't' }),
  ];

  it('is the key, the App, the model and the trace of one of the requests', () => {
    const attribution = { credentialId: 'k2', appId: 'a', modelKey: 'm', clientTraceId: 't' };
    expect(invariantsOf(checkAttribution('a hold', attribution, requests))).to.deep.equal([]);
    const untraced = [attributionOf({ credentialId: 'k1', appId: 'a' }, { model_key: 'm' })];
    expect(
      invariantsOf(checkAttribution('a hold', { credentialId: 'k1', appId: 'a', modelKey: 'm' }, untraced)),
    ).to.deep.equal([]);
  });

  it('is no other key, App, model or trace, and never missing', () => {
    const attribution = { credentialId: 'k1', appId: 'a', modelKey: 'm', clientTraceId: 't' };
    for (const wrong of [
      { credentialId: 'k3' },
      { appId: 'b' },
      { actor: 'person' as const },
      { modelKey: 'n' },
      { clientTraceId: 'u' },
      { clientTraceId: undefined },
    ])
      expect(invariantsOf(checkAttribution('a hold', { ...attribution, ...wrong }, requests))).to.deep.equal([1]);
    expect(invariantsOf(checkAttribution('a hold', undefined, requests))).to.deep.equal([1]);
  });
});

const RUNNING: Shown = { rank: rankOf('running'), charged: 0, updatedAt: 5, constant: 'c', end: 'running' };
const ENDED: Shown = { rank: rankOf('succeeded'), charged: 3, updatedAt: 6, constant: 'c', end: 'succeeded 3' };

describe('what clients are shown of a generation', () => {
  it('may advance, or stay as it is', () => {
    expect([brokenBy(RUNNING, ENDED), brokenBy(RUNNING, RUNNING), brokenBy(ENDED, ENDED)]).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('may not go back in status, charge or time', () => {
    expect(brokenBy(ENDED, RUNNING)).to.equal(8);
    expect(brokenBy({ ...RUNNING, charged: 1 }, RUNNING)).to.equal(8);
    expect(brokenBy({ ...RUNNING, updatedAt: 6 }, RUNNING)).to.equal(8);
  });

  it('may not change its end, nor its constant fields', () => {
    expect(brokenBy(ENDED, { ...ENDED, end: 'failed' })).to.equal(7);
    expect(brokenBy(RUNNING, { ...RUNNING, constant: 'd' })).to.equal(3);
  });

  it('may not change the outputs of its end, unless they may have been removed', () => {
    const before = { ...ENDED, delivered: 'one' };
    expect(brokenBy(before, { ...ENDED, delivered: 'two' })).to.equal(7);
    expect(brokenBy(before, ENDED)).to.equal(undefined);
  });

  it('matches the record, from its constant fields to its end', () => {
    const record = { ...ENDED, delivered: 'one' };
    expect(invariantsOf(checkShown('request 1', record, record))).to.deep.equal([]);
    expect(invariantsOf(checkShown('request 1', ENDED, record))).to.deep.equal([]);
    expect(invariantsOf(checkShown('request 1', RUNNING, record))).to.deep.equal([]);
    expect(invariantsOf(checkShown('request 1', { ...record, constant: 'd' }, record))).to.deep.equal([3]);
    expect(invariantsOf(checkShown('request 1', { ...record, end: 'failed' }, record))).to.deep.equal([15]);
    expect(invariantsOf(checkShown('request 1', { ...record, delivered: 'two' }, record))).to.deep.equal([15]);
  });

  it('may not come back once it is gone', () => {
    expect(brokenBy({ rank: 3, charged: 0, updatedAt: 0, end: 'gone' }, ENDED)).to.equal(8);
  });
});

describe('credits shown to clients', () => {
  const answer = { told: 'request 1', accountId: 'a', available: [5, 3] };
  const balance = { balance_credits: 3, available_credits: 3, remaining_credits: 3 };
  const burst = { told: 'by a', creates: 4, accepted: 2, cost: 2, balance: 5, returned: 2, isExact: true };

  it('accepts a refusal when the balance was too low at some moment', () => {
    expect(invariantsOf(checkShortage(answer, 4))).to.deep.equal([]);
  });

  it('finds a refusal although the balance was sufficient at every moment, or without a price', () => {
    expect(invariantsOf(checkShortage(answer, 3))).to.deep.equal([13]);
    expect(invariantsOf(checkShortage(answer, undefined))).to.deep.equal([13]);
    expect(invariantsOf(checkShortage({ ...answer, available: [] }, 4))).to.deep.equal([13]);
  });

  it('accepts a balance that was right at some moment', () => {
    expect(invariantsOf(checkBalance(answer, balance))).to.deep.equal([]);
  });

  it('finds a balance that never existed, and members that differ', () => {
    expect(invariantsOf(checkBalance({ ...answer, available: [5] }, balance))).to.deep.equal([1]);
    expect(invariantsOf(checkBalance(answer, { ...balance, available_credits: 5 }))).to.deep.equal([1]);
    expect(invariantsOf(checkBalance(answer, { ...balance, remaining_credits: undefined }))).to.deep.equal([1]);
  });

  it('accepts as many concurrent creates as the balance covers', () => {
    expect(invariantsOf(checkAccepted(burst))).to.deep.equal([]);
    expect(invariantsOf(checkAccepted({ ...burst, creates: 2, balance: 50 }))).to.deep.equal([]);
    expect(invariantsOf(checkAccepted({ ...burst, accepted: 3, isExact: false }))).to.deep.equal([]);
    expect(invariantsOf(checkAccepted({ ...burst, accepted: 0, isExact: false }))).to.deep.equal([]);
  });

  it('finds concurrent creates that are too many, and too few at rest', () => {
    expect(invariantsOf(checkAccepted({ ...burst, accepted: 3 }))).to.deep.equal([13]);
    expect(invariantsOf(checkAccepted({ ...burst, accepted: 1 }))).to.deep.equal([13]);
    expect(invariantsOf(checkAccepted({ ...burst, accepted: 4, isExact: false }))).to.deep.equal([13]);
  });
});

describe('what succeeds and is stored under an idempotency key', () => {
  const first = { told: 'request 1', key: 'k', payload: 'p', effect: 'e' };

  it('accepts one request with one effect', () => {
    expect(invariantsOf(checkEffect(first, { ...first, told: 'request 2' }))).to.deep.equal([]);
  });

  it('finds two effects, and two payloads', () => {
    expect(invariantsOf(checkEffect(first, { ...first, effect: 'f' }))).to.deep.equal([11]);
    expect(invariantsOf(checkEffect(first, { ...first, payload: 'q' }))).to.deep.equal([11]);
  });

  it('compares payloads and effects by what counts in them', () => {
    expect(payloadOf({ body: { a: 1, b: 2 } })).to.equal(payloadOf({ body: { b: 2, a: 1 } }));
    expect(payloadOf({ body: {}, uploadId: 'A' })).to.equal(payloadOf({ body: {}, uploadId: 'a' }));
    expect(payloadOf({ body: {}, uploadId: 'b' })).to.not.equal(payloadOf({ body: {}, uploadId: 'a' }));
    const completed = { upload_id: 'u', media_id: 'm' };
    expect(effectOf('complete', { ...completed, status: 'ready' })).to.equal(effectOf('complete', completed));
    expect(effectOf('complete', { ...completed, media_id: 'n' })).to.not.equal(effectOf('complete', completed));
    expect(effectOf('create', { generation_id: 'g' })).to.not.equal(effectOf('create', { generation_id: 'h' }));
  });

  it('accepts a refusal for another payload when there was one, and finds it when there was none', () => {
    expect(invariantsOf(checkMismatch('request 2', 'k', new Set(['p', 'q'])))).to.deep.equal([]);
    expect(invariantsOf(checkMismatch('request 2', 'k', new Set(['p'])))).to.deep.equal([11]);
  });

  it('accepts what one of its requests may have created', () => {
    expect(invariantsOf(checkOrigin('g', 'k', [{ madeNothing: true }, { madeNothing: false }]))).to.deep.equal([]);
  });

  it('finds what no client sent, and what every request was refused', () => {
    expect(invariantsOf(checkOrigin('g', 'k', []))).to.deep.equal([11]);
    expect(invariantsOf(checkOrigin('g', 'k', [{ madeNothing: true }]))).to.deep.equal([13]);
  });
});

describe('answers about what belongs to another account', () => {
  const refused: ForeignAnswer = {
    told: 'request 1',
    operation: 'get',
    id: 'x',
    owner: 'b',
    isSuccess: false,
    status: 404,
    code: 'TASK_NOT_FOUND',
    message: 'There is no x.',
  };
  const nobodys = { ...refused, id: 'y', owner: undefined, message: 'There is no y.' };
  const found = (...answers: readonly ForeignAnswer[]) => {
    const rule = new ForeignAnswers();
    return answers.flatMap((answer) => invariantsOf(rule.check(answer)));
  };

  it('accepts one refusal, which differs in the id at most', () => {
    const complete = { ...refused, operation: 'complete', code: 'FIELD_INVALID', status: 422 } as const;
    expect(found(refused, nobodys, complete, { ...nobodys, operation: 'cancel' })).to.deep.equal([]);
  });

  it('finds a success, another code, another message and another status', () => {
    expect(found({ ...refused, isSuccess: true })).to.deep.equal([17]);
    expect(found({ ...refused, code: 'GENERATION_JOB_NOT_FOUND' })).to.deep.equal([17]);
    expect(found(refused, { ...nobodys, message: 'Not yours.' })).to.deep.equal([17]);
    expect(found(refused, { ...nobodys, status: 403 })).to.deep.equal([17]);
  });

  it('accepts own uploads as references, and finds those of another account and unknown ones', () => {
    expect(invariantsOf(checkReference('generation g', 'a', 'u', 'a'))).to.deep.equal([]);
    expect(invariantsOf(checkReference('generation g', 'a', 'u', 'b'))).to.deep.equal([17]);
    expect(invariantsOf(checkReference('generation g', 'a', 'u', undefined))).to.deep.equal([17]);
  });

  it('finds an answer about another generation', () => {
    expect(invariantsOf(checkSubject('request 1', 'g', 'g'))).to.deep.equal([]);
    expect(invariantsOf(checkSubject('request 1', 'g', 'h'))).to.deep.equal([17]);
  });

  it('finds that a generation is denied which existed before', () => {
    expect(invariantsOf(checkDenial('request 1', 'TASK_NOT_FOUND', 'g', false))).to.deep.equal([]);
    expect(invariantsOf(checkDenial('request 1', 'TASK_NOT_FOUND', 'g', true))).to.deep.equal([12]);
  });
});

describe('what API keys give access to', () => {
  const used = { told: 'request 1', arrivedAt: 100, answeredAt: 150, verdict: 'taken', answer: '200' } as const;

  it('accepts a valid key, and a revoked one for 5 seconds', () => {
    expect(invariantsOf(checkKeyUsed(used, undefined))).to.deep.equal([]);
    expect(invariantsOf(checkKeyUsed({ ...used, verdict: 'nothing' }, undefined))).to.deep.equal([]);
    expect(invariantsOf(checkKeyUsed({ ...used, arrivedAt: 5_090 }, { askedAt: 80, doneAt: 90 }))).to.deep.equal([]);
    expect(invariantsOf(checkKeyUsed({ ...used, arrivedAt: 9_000 }, { askedAt: 80 }))).to.deep.equal([]);
  });

  it('accepts the refusal of a revoked key from the moment the revocation is requested', () => {
    expect(invariantsOf(checkKeyUsed({ ...used, verdict: 'revoked' }, { askedAt: 150 }))).to.deep.equal([]);
  });

  it('finds a revoked key that is accepted after 5 seconds', () => {
    expect(invariantsOf(checkKeyUsed({ ...used, arrivedAt: 5_091 }, { askedAt: 80, doneAt: 90 }))).to.deep.equal([18]);
  });

  it('finds the refusal of a valid key', () => {
    expect(invariantsOf(checkKeyUsed({ ...used, verdict: 'revoked' }, undefined))).to.deep.equal([18]);
    expect(invariantsOf(checkKeyUsed({ ...used, verdict: 'revoked' }, { askedAt: 151 }))).to.deep.equal([18]);
    expect(invariantsOf(checkKeyUsed({ ...used, verdict: 'refused' }, { askedAt: 80, doneAt: 90 }))).to.deep.equal([
      18,
    ]);
  });
});

describe('prices', () => {
  const model: PricedModel = {
    terms: {
      unit: 'image',
      microcreditsPerUnit: 2_333_334,
      baseMicrocredits: 100_001,
      countParameter: 'n',
      durationParameter: 'seconds',
      sizeParameter: 'size',
      multipliers: [{ parameter: 'style', thousandthsByValue: { fine: 1_500 } }],
      minimumCredits: 3,
      maximumCredits: 9,
    },
    maxOutputs: 4,
    inputSchema: { properties: { n: { default: 2 }, style: {} } },
  };
  const inUnits = (unit: PricedModel['terms']['unit']) => ({
    ...model,
    terms: { ...model.terms, unit, microcreditsPerUnit: 1_000_000, baseMicrocredits: 0, minimumCredits: 0 },
  });

  it('fill in what the schema has as a default, and no more', () => {
    expect(withDefaults(model.inputSchema, {})).to.deep.equal({ n: 2 });
    expect(withDefaults(model.inputSchema, { n: 3, style: 'fine' })).to.deep.equal({ n: 3, style: 'fine' });
  });

  it('count what is asked for, as far as the model delivers it', () => {
    expect([wantedOutputs(model, { n: 3 }), wantedOutputs(model, { n: 9 }), wantedOutputs(model, {})]).to.deep.equal([
      3, 4, 1,
    ]);
  });

  it('are rounded up once and kept within bounds', () => {
    // 2 x 2.333334 + 0.100001 = 4.766669
    expect(priceOf(model, { n: 2 })).to.equal(5);
    expect(priceOf(model, { n: 2, style: 'fine' })).to.equal(8);
    expect(priceOf(model, { n: 1 })).to.equal(3);
    expect(priceOf(model, { n: 4 })).to.equal(9);
  });

  it('are for what was delivered, and never for more than was asked for', () => {
    expect([0, 1, 2, 3].map((delivered) => priceOf(model, { n: 2 }, delivered))).to.deep.equal([0, 3, 5, 5]);
  });

  it('go by the unit of the model', () => {
    const asked = { n: 2, seconds: 3, size: '1000x500' };
    const units = ['task', 'image', 'video', 'second', 'megapixel'] as const;
    expect(units.map((unit) => priceOf(inUnits(unit), asked))).to.deep.equal([1, 2, 2, 6, 1]);
  });

  it('go by megapixels that are rounded up, of frames, and by the rate of the first one', () => {
    const priceWith = (terms: Partial<PricedModel['terms']>, size: string) => {
      const byMegapixel = inUnits('megapixel');
      return priceOf({ ...byMegapixel, terms: { ...byMegapixel.terms, ...terms } }, { n: 1, seconds: 2, size });
    };
    expect(priceWith({ roundsUp: true }, '1001x1000')).to.equal(2);
    expect(priceWith({ frameRateMillihertz: 1_750 }, '1000x1000'), '3.5 frames are 4').to.equal(4);
    expect(priceWith({ frameRateMillihertz: 1 }, '1000x1000'), 'one frame at least').to.equal(1);
    expect(priceWith({ firstUnitMicrocredits: 3_000_000 }, '2000x1000')).to.equal(4);
    expect(priceWith({ firstUnitMicrocredits: 3_000_000 }, '1000x500')).to.equal(2);
    const delivered = { widthPx: 1_000, heightPx: 1_000 };
    const common = inUnits('megapixel');
    const first = { ...common, terms: { ...common.terms, firstUnitMicrocredits: 3_000_000 } };
    expect(priceOfOutputs(first, { n: 2, size: '2000x1000' }, [delivered, delivered])).to.equal(6);
  });

  it('go by the size that a table has for the parameters', () => {
    const { sizeParameter: _, ...terms } = inUnits('megapixel').terms;
    const sizeTable = {
      parameters: ['ratio', 'scale'],
      sizes: [
        { values: ['1:1', 1], widthPx: 1_000, heightPx: 1_000 },
        { values: ['1:1', 2], widthPx: 2_000, heightPx: 2_000 },
      ],
    };
    const asked = { n: 1, ratio: '1:1', scale: 2 };
    expect(sizeAsked({ sizeTable }, asked)).to.equal('2000x2000');
    expect(priceOf({ ...model, terms: { ...terms, sizeTable } }, asked)).to.equal(4);
    expect(sizeAsked({ sizeTable }, { ...asked, scale: '2' })).to.equal(undefined);
  });
});

describe('what a generation reserves and is charged', () => {
  const ended = {
    generationId: 'g',
    accountId: 'a',
    status: 'succeeded',
    estimatedCredits: 4,
    reservedCredits: 4,
    chargedCredits: 3,
    outputs: [],
  } as const;
  const money: GenerationMoney = { accountId: 'a', held: 4n, charged: 3n, released: 1n, endedAt: 1 };

  it('accepts a hold of its price', () => {
    expect(invariantsOf(checkReserved(ended, 4, money))).to.deep.equal([]);
  });

  it('finds another price, and a hold that is missing, of another amount or account', () => {
    expect(invariantsOf(checkReserved({ ...ended, estimatedCredits: 5 }, 4, money))).to.deep.equal([3]);
    expect(invariantsOf(checkReserved(ended, 5, money))).to.deep.equal([3]);
    expect(invariantsOf(checkReserved(ended, undefined, money))).to.deep.equal([3]);
    expect(invariantsOf(checkReserved(ended, 4, undefined))).to.deep.equal([4]);
    expect(invariantsOf(checkReserved(ended, 4, { ...money, held: 5n }))).to.deep.equal([4]);
    expect(invariantsOf(checkReserved(ended, 4, { ...money, accountId: 'b' }))).to.deep.equal([4]);
  });

  it('accepts the price of what was delivered, nothing for a failure, and what a cancel may cost', () => {
    expect(invariantsOf(checkCharge(ended, 3))).to.deep.equal([]);
    expect(invariantsOf(checkCharge({ ...ended, status: 'failed', chargedCredits: 0 }, 3))).to.deep.equal([]);
    expect(invariantsOf(checkCharge({ ...ended, status: 'cancelled' }, 3))).to.deep.equal([]);
    expect(invariantsOf(checkCharge({ ...ended, status: 'cancelled' }, 0, [0, 3]))).to.deep.equal([]);
  });

  it('finds any other charge, and one of more than is reserved', () => {
    expect(invariantsOf(checkCharge(ended, 2))).to.deep.equal([3]);
    expect(invariantsOf(checkCharge({ ...ended, status: 'failed' }, 3))).to.deep.equal([3]);
    expect(invariantsOf(checkCharge({ ...ended, status: 'cancelled' }, 3, [0]))).to.deep.equal([3]);
    expect(invariantsOf(checkCharge({ ...ended, reservedCredits: 2 }, 3))).to.deep.equal([3]);
    expect(invariantsOf(checkCharge({ ...ended, chargedCredits: -1 }, -1))).to.deep.equal([3]);
  });

  it('accepts a hold that ended completely, and finds one that did not', () => {
    expect(invariantsOf(checkEndedHold('g', money))).to.deep.equal([]);
    expect(invariantsOf(checkEndedHold('g', { ...money, released: 0n }))).to.deep.equal([4]);
  });

  it('accepts a ledger that charges what the record says, and finds any other', () => {
    expect(invariantsOf(checkLedgerCharge('g', money, ended))).to.deep.equal([]);
    expect(invariantsOf(checkLedgerCharge('g', { ...money, charged: 0n }, undefined))).to.deep.equal([]);
    expect(invariantsOf(checkLedgerCharge('g', { ...money, charged: 2n }, ended))).to.deep.equal([5]);
    expect(invariantsOf(checkLedgerCharge('g', money, undefined))).to.deep.equal([5]);
  });

  it('finds what is held at rest', () => {
    expect(invariantsOf(checkHeldAtRest('g', undefined))).to.deep.equal([6]);
  });
});

describe('an event for an endpoint', () => {
  const found = (event: string, status: string) =>
    invariantsOf(checkWanted('w was told', event, { events: ['generation.running', 'generation.failed'] }, { status }));

  it('is an event that it wants, and the end of the generation', () => {
    expect(found('generation.running', 'succeeded')).to.deep.equal([]);
    expect(found('generation.failed', 'failed')).to.deep.equal([]);
  });

  it('is no other event, and no other end', () => {
    expect(found('generation.succeeded', 'succeeded')).to.deep.equal([27]);
    expect(found('generation.failed', 'cancelled')).to.deep.equal([27]);
    expect(found('generation.failed', 'running')).to.deep.equal([27]);
  });
});
