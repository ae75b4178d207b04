/** Thrown when a database cannot be used as it is; the message is one sentence fit for the operator. */
export class MongoRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MongoRefused';
  }
}
