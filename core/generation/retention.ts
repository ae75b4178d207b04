import { utf8ByteLength } from '../utf8.js';
import type { Settings } from '../settings.js';
import type { Generation } from './generation.js';

/** What a generation with nothing in it counts: about what its record, its key and its ledger entries take. */
const MIN_CONTENT_BYTES = 2_048;

/** Until when the parts of a generation that has ended are kept. */
export interface Retention {
  readonly contentExpiresAt: number;
  readonly outputsExpireAt: number;
  readonly taskExpiresAt: number;
}

/** What is kept of an account's generations that ended without charge and still have their content. */
export interface UnchargedContent {
  readonly generations: number;
  readonly bytes: number;
}

type RetentionSettings = Pick<Settings, 'unchargedContentRetentionMs' | 'outputRetentionMs' | 'taskRetentionMs'>;

export function retentionOf(g: Generation, settings: RetentionSettings): Retention {
  const endedAt = g.completedAt ?? g.updatedAt;
  return {
    contentExpiresAt: endedAt + settings.unchargedContentRetentionMs,
    outputsExpireAt: endedAt + settings.outputRetentionMs,
    taskExpiresAt: endedAt + settings.taskRetentionMs,
  };
}

/** When something of an ended generation is next to be removed. */
export function nextRemovalAt(g: Generation, { contentExpiresAt, outputsExpireAt, taskExpiresAt }: Retention): number {
  return Math.min(
    taskExpiresAt,
    hasUnchargedContent(g) ? contentExpiresAt : Infinity,
    mayHaveOutputs(g) ? outputsExpireAt : Infinity,
  );
}

/** Whether files may be in the object store. */
export function mayHaveOutputs(g: Generation): boolean {
  return g.outputsRemovedAt === undefined && g.attemptsMade > 0;
}

/** Whether an ended generation still has what was asked for, though nothing was paid for keeping it. */
export function hasUnchargedContent(g: Generation): boolean {
  return g.contentRemovedAt === undefined && g.chargedCredits === 0;
}

/** How many bytes its content counts: the prompts, the parameters and the references as JSON, in UTF-8. */
export function contentBytes({ prompt, negativePrompt, parameters, references }: Generation): number {
  return Math.max(MIN_CONTENT_BYTES, utf8ByteLength(JSON.stringify([prompt, negativePrompt, parameters, references])));
}

/** The generation without what only its run needed. What clients are shown of it stays. */
export function withoutContent(g: Generation): Generation {
  const { negativePrompt: _negativePrompt, unchargedBytes: _unchargedBytes, ...rest } = g;
  return { ...rest, prompt: '', parameters: {}, references: [] };
}

/**
 * The same of one that its client deletes. One without charge goes on counting for its account: creating and deleting
 * would have no bound else.
 */
export function emptied(g: Generation): Generation {
  const { webhookUrl: _webhookUrl, ...rest } = withoutContent(g);
  return g.unchargedBytes === undefined ? rest : { ...rest, unchargedBytes: MIN_CONTENT_BYTES };
}
