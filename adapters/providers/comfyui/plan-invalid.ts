/** Settings that cannot be used with their workflow. The message is one sentence. */
export class PlanInvalid extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PlanInvalid';
  }
}
