import type { Overview } from '../server-types.js';

interface SignInAgainProps {
  readonly overview: Overview;
  /** What it is for, as in "To add one". */
  readonly toDo: string;
}

/** What takes a sign-in of the last 15 minutes begins with another sign-in. */
export function SignInAgain({ overview: { person, session }, toDo }: SignInAgainProps) {
  // Who came by a link that works once could not come again.
  if (session.method === 'link' && !person.has_password && !person.has_passkey)
    return (
      <p class="quiet">{`To ${toDo}, ask the operator for another sign-in link, and use it within 15 minutes.`}</p>
    );
  // A provider that does not say when it asked proves no recent sign-in, however new the session is.
  const how =
    session.method === 'provider'
      ? ' with a password, a passkey or a link from the operator, or once your provider has asked who you are.'
      : ': your last sign-in was more than 15 minutes ago.';
  return (
    <form method="post" action="/sign-out?return=/console/sign-in" class="again">
      <p class="quiet">{`To ${toDo}, sign in again${how}`}</p>
      <button type="submit" class="outline secondary small">
        Sign in again
      </button>
    </form>
  );
}
