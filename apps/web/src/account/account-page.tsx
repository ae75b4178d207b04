import { reloadOverview, signOut } from '../session.js';
import { browserText, dateText, METHOD_TEXTS, textOf, timeText } from '../format.js';
import { ask } from '../parts/ask.js';
import { ActionButton, Button, CopyableId } from '../parts/buttons.js';
import { Form, TextField } from '../parts/form.js';
import { Badge, Card, Facts, Loaded, Page, type PageProps, Time } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import type { Identity, Session } from '../server-types.js';
import { change, Explained } from '../server.js';
import { afterChange, focusOn, useAction, useData } from '../use-data.js';
import { PasskeyList } from './passkeys.js';
import { Preferences } from './preferences.js';
import { ItemOfList, RemoveButton, SignInAgain } from './ways-to-sign-in.js';

/** How the person signs in, where they are signed in, and what they prefer in this browser. */
export function AccountPage({ overview }: PageProps) {
  const { person, account } = overview;
  return (
    <Page title="Account">
      <div class="stack column">
        <Card
          id="person"
          title="You"
          actions={
            <Button isSmall icon="log-out" onClick={signOut}>
              Sign out
            </Button>
          }
        >
          <Facts
            facts={[
              ['E-mail address', person.email],
              ['Account', account.name],
              ['Account id', <CopyableId key="id" id={account.id} what="account id" />],
            ]}
          />
        </Card>
        <PasswordCard overview={overview} />
        <PasskeyList overview={overview} />
        <IdentityList overview={overview} />
        <SessionList />
        <Preferences />
      </div>
    </Page>
  );
}

/** Changes the password, or sets the first one. All other sessions and all connected programs end with a new one. */
function PasswordCard({ overview: { person, session } }: PageProps) {
  const doing = useAction();
  const hasOne = person.has_password;
  if (!hasOne && !session.is_recent)
    return (
      <Card id="password" title="Password" note="You have none.">
        <SignInAgain acts={['set']} />
      </Card>
    );
  const submit = async (fields: FormData, form: HTMLFormElement): Promise<void> => {
    const wanted = textOf(fields, 'new_password');
    if (wanted !== textOf(fields, 'again')) throw new Explained('The two new passwords differ.', '/again');
    const current = hasOne ? { current_password: textOf(fields, 'current_password') } : {};
    await change('/password', { ...current, new_password: wanted });
    form.reset();
    announce('The password is set. You are signed out everywhere else, and your programs are disconnected.');
    focusOn('password');
    await reloadOverview();
  };
  const field = { type: 'password', required: true, maxLength: 256 } as const;
  const newField = { ...field, autocomplete: 'new-password', minLength: 12 } as const;
  return (
    <Card id="password" title="Password" note="A new one signs you out everywhere else, and disconnects your programs.">
      <Form
        doing={doing}
        submit={submit}
        footer={
          <div>
            <Button type="submit" isBusy={doing.isBusy} busyText="Saving…">
              {hasOne ? 'Change password' : 'Set password'}
            </Button>
          </div>
        }
      >
        {/* Password managers keep the password under this name. */}
        <input type="email" name="email" value={person.email} autocomplete="username" readOnly hidden />
        {hasOne ? (
          <TextField {...field} label="Current password" name="current_password" autocomplete="current-password" />
        ) : null}
        <div class="fields">
          <TextField
            {...newField}
            label="New password"
            name="new_password"
            hint={`At least ${newField.minLength} characters.`}
          />
          <TextField {...newField} label="New password again" name="again" />
        </div>
      </Form>
    </Card>
  );
}

/** Identities at an outside provider that sign the person in. Not shown where there is neither a provider nor one. */
function IdentityList({ overview: { provider_name: provider, session } }: PageProps) {
  const identities = useData<{ readonly identities: readonly Identity[] }>('/identities');
  const hasSome = (identities.value?.identities.length ?? 0) > 0;
  if (provider === null && !hasSome) return null;
  const said = afterChange(identities.reload, 'identities');
  // A change of the ways to sign in requires proof that the person is there.
  const link = async (): Promise<void> => {
    const { location } = await change<{ readonly location: string }>('/identities/link');
    window.location.assign(location);
  };
  return (
    <Card
      id="identities"
      title={provider ?? 'Outside identities'}
      note="An identity elsewhere that signs you in here."
      isFlush
    >
      <Loaded data={identities} what="identities">
        {({ identities: shown }) => (
          <ul class="list">
            {shown.map(({ issuer, subject, linked_at: linkedAt }) => {
              const host = URL.canParse(issuer) ? new URL(issuer).host : issuer;
              return (
                <ItemOfList
                  key={`${issuer} ${subject}`}
                  name={host}
                  note={`${subject} · connected ${dateText(linkedAt)}`}
                >
                  <RemoveButton
                    what={`${subject} at ${host}`}
                    title="Remove this identity?"
                    text="You can no longer sign in with it. Make sure that you have another way to sign in."
                    doIt="Remove identity"
                    act={() => change('/identities/unlink', { issuer, subject })}
                    done={() => said('The identity is removed.')}
                  />
                </ItemOfList>
              );
            })}
          </ul>
        )}
      </Loaded>
      {session.is_recent && provider === null ? null : (
        <div class="body stack-s">
          <SignInAgain acts={[provider !== null && 'connect', hasSome && 'remove']} />
          {session.is_recent ? (
            <ActionButton isSmall={false} action={link}>
              {`Connect ${provider}`}
            </ActionButton>
          ) : null}
        </div>
      )}
    </Card>
  );
}

/** The sessions of the person. */
function SessionList() {
  const sessions = useData<{ readonly sessions: readonly Session[] }>('/sessions', { everyMs: 30_000 });
  const ended = afterChange(sessions.reload, 'sessions');
  const endOthers = (): void =>
    ask({
      title: 'Sign out everywhere else?',
      text: 'Every browser but this one has to sign in again. Keys and connected programs continue to work.',
      doIt: 'Sign out everywhere else',
      act: () => change('/sessions/end-others'),
      done: () => ended('You are signed out everywhere else.'),
    });
  const end = ({ id, user_agent: userAgent, created_at: createdAt }: Session): void =>
    ask({
      title: `Sign out ${browserText(userAgent)}?`,
      text: `It was signed in ${timeText(createdAt)} and has to sign in again.`,
      doIt: 'Sign out browser',
      act: () => change(`/sessions/${id}/end`),
      done: () => ended('That browser is signed out.'),
    });
  const hasOthers = (sessions.value?.sessions.length ?? 0) > 1;
  return (
    <Card
      id="sessions"
      title="Where you are signed in"
      isFlush
      actions={
        hasOthers ? (
          <Button kind="danger" isSmall onClick={endOthers}>
            Sign out everywhere else
          </Button>
        ) : undefined
      }
    >
      <Loaded data={sessions} what="sessions">
        {({ sessions: shown }) => (
          <ul class="list">
            {shown.map((one) => {
              const { user_agent: userAgent, created_at: createdAt, is_current: isCurrent } = one;
              const browser = browserText(userAgent);
              return (
                <ItemOfList
                  key={one.id}
                  icon={/Mobi|Android|iPhone/.test(userAgent) ? 'smartphone' : 'monitor'}
                  name={[
                    browser,
                    isCurrent ? (
                      <Badge key="current" look="ok">
                        This browser
                      </Badge>
                    ) : null,
                  ]}
                  note={
                    <>
                      Signed in <Time at={createdAt} /> {METHOD_TEXTS[one.method]} · expires {timeText(one.expires_at)}{' '}
                      if unused
                    </>
                  }
                >
                  {isCurrent ? null : (
                    <Button
                      kind="danger"
                      isSmall
                      label={`Sign out ${browser}, signed in ${timeText(createdAt)}`}
                      onClick={() => end(one)}
                    >
                      Sign out
                    </Button>
                  )}
                </ItemOfList>
              );
            })}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}
