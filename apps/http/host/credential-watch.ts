import { ServiceError } from '../../../core/errors.js';
import type { Audience } from '../../../core/access/credential.js';
import type { Clock } from '../../../core/ports/clock.js';

/** With the time that a credential is remembered, a revocation ends a wait within five seconds. */
const LOOK_EVERY_MS = 1_000;

/**
 * Looks whether the credentials of requests that last are still valid: each once a second, however many requests it
 * has. Nothing is looked at while there is none.
 */
export class CredentialWatch {
  private readonly followed = new Map<string, Set<() => void>>();
  private cancelTimer: (() => void) | undefined;
  private isLooking = false;

  constructor(
    /** Rejects for a credential that is not valid. */
    private readonly authenticator: {
      readonly authenticate: (credential: string, audience: Audience) => Promise<unknown>;
    },
    private readonly clock: Pick<Clock, 'after'>,
    /** What the credentials must be for. */
    private readonly audience: Audience,
  ) {}

  /** Tells, each second until the returned function is called, when the credential is refused. */
  follow(credential: string, tell: () => void): () => void {
    const told = this.followed.get(credential) ?? new Set();
    this.followed.set(credential, told.add(tell));
    this.schedule();
    return () => {
      told.delete(tell);
      if (told.size > 0 || this.followed.get(credential) !== told) return;
      this.followed.delete(credential);
      if (this.followed.size > 0) return;
      this.cancelTimer?.();
      this.cancelTimer = undefined;
    };
  }

  private schedule(): void {
    if (this.cancelTimer !== undefined || this.isLooking || this.followed.size === 0) return;
    this.cancelTimer = this.clock.after(LOOK_EVERY_MS, () => void this.look());
  }

  private async look(): Promise<void> {
    this.cancelTimer = undefined;
    this.isLooking = true;
    for (const [credential, told] of Array.from(this.followed)) {
      if (await this.isRefused(credential)) for (const tell of told) tell();
    }
    this.isLooking = false;
    this.schedule();
  }

  private async isRefused(credential: string): Promise<boolean> {
    try {
      await this.authenticator.authenticate(credential, this.audience);
      return false;
    } catch (error) {
      // Stores that do not answer say nothing of the credential.
      return error instanceof ServiceError && error.code !== 'SERVICE_UNAVAILABLE';
    }
  }
}
