import type { Mutant } from '../mutant.js';
import { ACCESS_MUTANTS } from './access.js';
import { BOOT_MUTANTS } from './boots.js';
import { CAP_MUTANTS } from './caps.js';
import { CREATE_MUTANTS } from './create.js';
import { CREDIT_MUTANTS } from './credits.js';
import { DELETION_MUTANTS } from './deletions.js';
import { FOUND_MUTANTS } from './found.js';
import { KEY_MUTANTS } from './keys.js';
import { PROGRAM_MUTANTS } from './programs.js';
import { READER_MUTANTS } from './readers.js';
import { RECOVERY_MUTANTS } from './recovery.js';
import { RUN_MUTANTS } from './run.js';
import { SHARE_MUTANTS } from './shares.js';
import { STATE_MUTANTS } from './states.js';
import { UPLOAD_MUTANTS } from './uploads.js';
import { WEBHOOK_MUTANTS } from './webhooks.js';

export const MUTANTS: readonly Mutant[] = [
  ...CREATE_MUTANTS,
  ...KEY_MUTANTS,
  ...CREDIT_MUTANTS,
  ...CAP_MUTANTS,
  ...STATE_MUTANTS,
  ...RUN_MUTANTS,
  ...SHARE_MUTANTS,
  ...RECOVERY_MUTANTS,
  ...DELETION_MUTANTS,
  ...BOOT_MUTANTS,
  ...UPLOAD_MUTANTS,
  ...WEBHOOK_MUTANTS,
  ...READER_MUTANTS,
  ...ACCESS_MUTANTS,
  ...PROGRAM_MUTANTS,
  ...FOUND_MUTANTS,
];
