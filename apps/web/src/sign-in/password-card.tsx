import { useRef } from 'preact/hooks';
import { announce } from '../announce.js';
import { textOf } from '../form-text.js';
import { Card, focusOn } from '../parts/card.js';
import { change } from '../server.js';
import type { Overview } from '../server-types.js';
import { SignInAgain } from './sign-in-again.js';
import { useAction } from '../use-action.js';
import { Fault } from '../parts/fault.js';

const MIN_LENGTH = 12;

interface PasswordCardProps {
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

/** Changes the password, or sets the first one. All other sessions end with it. */
export function PasswordCard({ overview, reload }: PasswordCardProps) {
  const { person, session } = overview;
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, fault, setFault, run } = useAction();
  const submit = async (): Promise<void> => {
    const fields = new FormData(form.current ?? undefined);
    const text = (name: string): string => textOf(fields, name);
    if (text('new') !== text('again')) return setFault('The two new passwords differ.');
    await run(async () => {
      await change('/password', {
        ...(person.has_password ? { current_password: text('current') } : {}),
        new_password: text('new'),
      });
      form.current?.reset();
      announce('The password is set. You are signed out everywhere else.');
      focusOn('password');
      await reload();
    });
  };
  const note = person.has_password
    ? 'Changing it signs you out everywhere else.'
    : 'You have none yet. With one you can sign in by yourself; without one you need a link from the operator.';
  if (!person.has_password && !session.is_recent)
    return (
      <Card id="password" title="Password" note="You have none.">
        <SignInAgain overview={overview} toDo="set one" />
      </Card>
    );
  return (
    <Card id="password" title="Password" note={note}>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {/* Password managers keep the password under this name. */}
        <input type="email" name="email" value={person.email} autocomplete="username" readOnly hidden />
        {person.has_password ? <PasswordField label="Current password" name="current" kind="current-password" /> : null}
        <div class="fields">
          <PasswordField label="New password" name="new" kind="new-password" minLength={MIN_LENGTH} />
          <PasswordField label="New password again" name="again" kind="new-password" minLength={MIN_LENGTH} />
        </div>
        <p class="quiet">{`At least ${MIN_LENGTH} characters.`}</p>
        <Fault text={fault} />
        <button type="submit" aria-busy={isBusy} disabled={isBusy}>
          {person.has_password ? 'Change password' : 'Set password'}
        </button>
      </form>
    </Card>
  );
}

interface PasswordFieldProps {
  readonly label: string;
  readonly name: string;
  readonly kind: 'current-password' | 'new-password';
  readonly minLength?: number;
}

function PasswordField({ label, name, kind, minLength = 1 }: PasswordFieldProps) {
  return (
    <label>
      {label}
      <input type="password" name={name} autocomplete={kind} required minLength={minLength} maxLength={256} />
    </label>
  );
}
