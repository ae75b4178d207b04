import type { Generation } from '../../../../core/generation/generation.js';
import type { JsonObject } from '../../../../core/json.js';
import { attributionOf, checkAttribution } from '../../../history/attributions.js';
import type { Finding } from '../../../history/finding.js';
import { canonical } from '../../../history/values.js';
import { type Known, traceOf } from '../known.js';

/**
 * Invariant 1: a generation names the key, the model and the trace of a request that was sent for it, and each of its
 * entries names the same. Where processes of the release before took part, entries may name nothing, and generations no
 * key.
 */
export function* checkAttributions(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  const sent = new Map<string, JsonObject[]>();
  for (const { by, request } of known.history.exchanges) {
    if (request.operation !== 'create') continue;
    const attribution = attributionOf(known.party(by).keyId, request.body);
    const trace = traceOf(request.body);
    sent.set(trace, [...(sent.get(trace) ?? []), attribution]);
  }
  for (const generation of known.generations()) {
    const { generationId, credentialId, clientTraceId = '' } = generation;
    if (credentialId === undefined && facts.hasOlderProcesses) continue;
    yield* checkAttribution(`generation ${generationId}`, generation, sent.get(clientTraceId) ?? []);
  }
  const generations = new Map(known.generations().map((generation) => [generation.generationId, generation]));
  for (const { accountId, sequence, generationId, attribution } of atRest.accounts.flatMap(({ entries }) => entries)) {
    const generation = generationId === undefined ? undefined : generations.get(generationId);
    // Of a generation that never came to be only the entries are known.
    if (generationId !== undefined && generation === undefined) continue;
    if (attribution === undefined && (generation === undefined || facts.hasOlderProcesses)) continue;
    // The month of a cap is for the rule about caps.
    const { capPeriod: _period, ...named } = attribution ?? {};
    if (generation === undefined || canonical(named) !== canonical(namedBy(generation)))
      yield {
        invariant: 1,
        sentence: `entry ${sequence} of account ${accountId} is attributed to ${canonical(attribution ?? null)}, and its generation is of ${canonical(generation && namedBy(generation))}`,
      };
  }
}

function namedBy({ credentialId, modelKey, clientTraceId }: Generation): object {
  return { credentialId, modelKey, ...(clientTraceId === undefined ? {} : { clientTraceId }) };
}
