import type { Mutant } from '../mutant.js';

/** Possible mistakes about deletions by clients, and what must be deleted with them. */
export const DELETION_MUTANTS: readonly Mutant[] = [
  {
    name: 'deleted-before-it-was-charged',
    breaks: [9, 26],
    file: 'core/generation/decide.js',
    find: "if (g.settledAt === undefined) return { refused: 'NOT_ALLOWED' };",
    replace: '',
    why: 'Whoever deletes a picture between its end and its charge has it for nothing.',
  },
  {
    name: 'deleted-with-what-was-asked-for',
    breaks: [9, 26],
    file: 'core/generation/decide.js',
    find: '{ ...emptied(g), deletedAt: at',
    replace: '{ ...g, deletedAt: at',
    why: 'The prompt stays in the record until somebody completes the deletion.',
  },
  {
    name: 'deleted-record-before-its-outputs',
    breaks: [26],
    file: 'core/generation/end-generation.js',
    find: 'await removeOutputs(context, marked.generationId, writtenBy(marked));',
    replace: '',
    why: 'The outputs stay in the object store, and nothing knows of them any more.',
  },
  {
    name: 'deletion-not-completed',
    breaks: [9, 26],
    file: 'core/recovery/recover.js',
    find: 'if (g.deletedAt !== undefined) return completeDeletion(context, g);',
    replace: '',
    why: 'A deletion whose process died leaves the outputs until their retention is over.',
  },
  {
    name: 'used-upload-deleted',
    breaks: [16, 26],
    file: 'core/uploads/manage-uploads.js',
    find: 'if (upload.lastUsedAt !== undefined)',
    replace: 'if (upload.uploadId === undefined)',
    why: 'The reference of a generation that still has to run is removed.',
  },
  {
    name: 'deleted-upload-keeps-its-bytes',
    breaks: [26],
    file: 'core/uploads/manage-uploads.js',
    find: 'if (key !== undefined) await objects.remove(key);',
    replace: 'if (key === undefined) await objects.remove(key);',
    why: 'The record goes, and the picture stays.',
  },
  {
    name: 'deleted-upload-forgets-its-target',
    breaks: [16],
    file: 'core/uploads/manage-uploads.js',
    find: 'if (now < again) {',
    replace: 'if (now < 0) {',
    why: 'Bytes that are sent to the target after the deletion are never removed.',
  },
];
