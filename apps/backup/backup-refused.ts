/** Thrown when a backup cannot be made or restored; the message is one sentence fit for the operator. */
export class BackupRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'BackupRefused';
  }
}
