import type { JsonObject } from '../../../../core/json.js';
import { type Finding, finding } from '../../finding.js';
import { attributionOf, checkAttribution, checkBalance, namedBy } from '../../ledger.js';
import { checkCharge, checkEndedHold, checkHeldAtRest, checkLedgerCharge, checkReserved } from '../../prices.js';
import { type Known, traceOf } from '../known.js';

/**
 * Invariants 1, 2 and 6: every account equals the sum of its entries, starting from zero, and holds nothing at rest.
 */
export function* checkBooks(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  for (const { account, ledger, findings } of known.ledgers) {
    yield* findings;
    yield* ledger.check(account);
    const { accountId, issued, holds } = account;
    const granted = facts.granted[accountId] ?? 0;
    if (issued !== granted)
      yield finding`1: account ${accountId} was granted ${granted} credits and has ${issued} issued`;
    const held = [...ledger.holds].flatMap(([id, credits]) => (credits > 0n ? [id] : []));
    for (const id of new Set([...holds.keys(), ...held])) yield* checkHeldAtRest(id, known.record(id));
  }
  for (const accountId of Object.keys(facts.granted)) {
    if (!atRest.accounts.some((account) => account.accountId === accountId))
      yield finding`12: account ${accountId} is gone`;
  }
  for (const sentence of atRest.verifyFindings) yield finding`1: verify says: ${sentence}`;
}

/** A balance that a client reads is one that the account had while the request was in flight. */
export function* checkBalances(known: Known): Iterable<Finding> {
  for (const exchange of known.answered('credits')) {
    const { status, data = {} } = exchange.answer;
    if (status === 200) yield* checkBalance(known.creditsAnswer(exchange), data);
  }
}

/** Invariants 3, 4 and 5: each generation reserves its price, is charged at most once, and for what it delivered. */
export function* checkCharges(known: Known): Iterable<Finding> {
  for (const generation of known.generations()) {
    const { generationId, reservedCredits, outputs } = generation;
    const body = known.bodyOf(generation);
    // The rule about keys reports a generation that no client requested.
    const price = body ? known.priceOf(body) : reservedCredits;
    yield* checkReserved(generation, price, known.money.get(generationId));
    if (body) yield* checkCharge(generation, known.priceOf(body, outputs.length));
  }
  for (const [id, money] of known.money) {
    const record = known.record(id);
    const generation = record?.kind === 'generation' ? record : undefined;
    yield* checkLedgerCharge(id, money, generation);
    yield* checkEndedHold(id, money);
  }
}

/** Invariant 24: no key spends more in a month than its cap, and its account stores the same sum at rest. */
export function* checkCaps(known: Known): Iterable<Finding> {
  for (const { accountId, entries, capUses } of known.history.atRest.accounts) {
    const uses = known.capUses();
    for (const entry of entries) yield* uses.add(entry);
    yield* uses.check(accountId, capUses?.values() ?? []);
  }
}

/**
 * Invariant 1: a generation names the key, the App, the model and the trace of a request that was sent for it, and each of its
 * entries names the same. If processes of the previous release took part, entries may name nothing, and generations no
 * key.
 */
export function* checkAttributions(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  const sent = new Map<string, JsonObject[]>();
  for (const { by, request } of known.history.exchanges) {
    if (request.operation !== 'create') continue;
    const { keyId: credentialId, appId } = known.party(by);
    const attribution = attributionOf({ credentialId, appId }, request.body);
    const trace = traceOf(request.body);
    sent.set(trace, [...(sent.get(trace) ?? []), attribution]);
  }
  for (const generation of known.generations()) {
    const { generationId, credentialId, clientTraceId = '' } = generation;
    if (credentialId === undefined && facts.hasOlderProcesses) continue;
    yield* checkAttribution(`generation ${generationId}`, namedBy(generation), sent.get(clientTraceId) ?? []);
  }
  const generations = new Map(known.generations().map((generation) => [generation.generationId, generation]));
  for (const { accountId, sequence, generationId, attribution } of atRest.accounts.flatMap(({ entries }) => entries)) {
    const generation = generationId === undefined ? undefined : generations.get(generationId);
    // Only the entries of a generation that never came to be are known.
    if (generationId !== undefined && generation === undefined) continue;
    if (attribution === undefined && (generation === undefined || facts.hasOlderProcesses)) continue;
    const expected = generation === undefined ? [] : [namedBy(generation)];
    yield* checkAttribution(`entry ${sequence} of account ${accountId}`, attribution, expected);
  }
}
