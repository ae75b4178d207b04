/** Thrown when a data folder cannot be opened; the message is one sentence fit for the operator. */
export class DataFolderRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DataFolderRefused';
  }
}

/** The same for one that only wants to be made, or brought up to date. */
export class DataFolderUnmade extends DataFolderRefused {}
