import { recoverAll } from '../../recover-all.js';
import { Operations } from '../generated/darkroom/v1/operations_pb.js';
import { plain } from '../method.js';
import { duration } from '../render/times.js';

const { method } = Operations;

export const OPERATIONS_METHODS = [
  plain(method.runRecovery, {
    scope: 'operations:write',
    async answer({ context }) {
      const total = await recoverAll(context);
      return {
        generationsWoken: BigInt(total.generations_woken),
        generationsEnded: BigInt(total.generations_ended),
        generationsSettled: BigInt(total.generations_settled),
        generationsRetired: BigInt(total.generations_retired),
        holdsReleased: BigInt(total.holds_released),
        holdsSettled: BigInt(total.holds_settled),
        uploadsSwept: BigInt(total.uploads_swept),
        uploadsRemoved: BigInt(total.uploads_removed),
        claimsRemoved: BigInt(total.claims_removed),
        failed: BigInt(total.failed),
      };
    },
  }),
  plain(method.getRetention, {
    scope: 'operations:read',
    answer: ({ context: { settings } }) => Promise.resolve({
      outputs: duration(settings.outputRetentionMs),
      generations: duration(settings.taskRetentionMs),
      remnants: duration(settings.remnantRetentionMs),
      uploads: duration(settings.uploadRetentionMs),
      replays: duration(settings.replayWindowMs),
      claims: duration(settings.claimRetentionMs),
      unchargedContent: duration(settings.unchargedContentRetentionMs),
    }),
  }),
] as const;
