/**
 * Thrown when a bucket cannot be used as it is configured; the message is one sentence fit for the operator, without
 * secrets.
 */
export class MinioRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MinioRefused';
  }
}

/** The same for a missing bucket; `where` names it. */
export class BucketMissing extends MinioRefused {
  constructor(readonly where: string) {
    super(`There is no ${where}: make it with \`darkroom migrate\`.`);
  }
}
