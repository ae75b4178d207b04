import type { Generation } from '../../../../core/generation/generation.js';
import { canonical } from '../../../history/values.js';
import type { Finding } from '../../../history/finding.js';
import type { Known } from '../known.js';

/**
 * Invariant 1: an entry says what its credits are for as the generation does. Only where processes of the release before
 * took part may it say nothing, and their generations may name no key.
 */
export function* checkAttributions(known: Known): Iterable<Finding> {
  const { facts, atRest } = known.history;
  const generations = new Map(known.generations().map((generation) => [generation.generationId, generation]));
  for (const { accountId, sequence, generationId, attribution } of atRest.accounts.flatMap(({ entries }) => entries)) {
    const generation = generationId === undefined ? undefined : generations.get(generationId);
    // Of a generation that never came to be only the entries are known.
    if (generationId !== undefined && generation === undefined) continue;
    if (attribution === undefined && (generation === undefined || facts.hasOlderProcesses)) continue;
    if (generation === undefined || canonical(attribution ?? null) !== canonical(attributionOf(generation)))
      yield {
        invariant: 1,
        sentence: `entry ${sequence} of account ${accountId} is attributed to ${canonical(attribution ?? null)}, and its generation is of ${canonical(generation && attributionOf(generation))}`,
      };
  }
}

function attributionOf({ credentialId, modelKey, clientTraceId }: Generation): object {
  return { credentialId, modelKey, ...(clientTraceId === undefined ? {} : { clientTraceId }) };
}
