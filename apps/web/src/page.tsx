import { useEffect } from 'preact/hooks';
import { AccessSection } from './access/access-section.js';
import { announce, Announcer } from './announce.js';
import { CreditsSection } from './credits/credits-section.js';
import { Loaded } from './parts/loaded.js';
import { SectionLink } from './parts/section-link.js';
import { OperatorArea } from './operator/operator-area.js';
import { OperatorNavigation } from './operator/operator-navigation.js';
import { place, titleOf } from './operator/places.js';
import { hasMoved, path, section, SECTIONS, type SectionName } from './router.js';
import type { Overview } from './server-types.js';
import { SignInSection } from './sign-in/sign-in-section.js';
import { useData, type Data } from './use-data.js';

/** The whole account page: its head, its navigation, and one section. */
export function Page() {
  const overview = useData<Overview>('/overview');
  const { reload } = overview;
  const [at, address] = [place.value, path.value];
  const { title } = at === undefined ? sectionOf(section.value) : { title: titleOf(at) };
  useEffect(() => {
    document.title = `${title} · Darkroom`;
    if (!hasMoved.value) return;
    announce('');
    document.getElementById('section-title')?.focus();
  }, [title, address]);
  useEffect(() => {
    // A page out of the browser's cache may be of a session that has ended.
    const check = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) void reload();
    };
    window.addEventListener('pageshow', check);
    return () => window.removeEventListener('pageshow', check);
  }, [reload]);
  return (
    <>
      <a class="skip" href="#section-title">
        Skip to the content
      </a>
      <Head overview={overview.value} />
      <div class="frame container">
        <Navigation overview={overview.value} />
        <main>
          <h1 id="section-title" tabIndex={-1}>
            {title}
          </h1>
          <Loaded data={overview} what="your account">
            {(value) =>
              at === undefined ? (
                <>
                  {section.value === 'sign-in' ? null : <NoWayBack overview={value} />}
                  <Section name={section.value} overview={value} data={overview} />
                </>
              ) : (
                <OperatorArea place={at} overview={value} reload={overview.reload} />
              )
            }
          </Loaded>
        </main>
      </div>
      <Announcer />
    </>
  );
}

function Head({ overview }: { readonly overview: Overview | undefined }) {
  return (
    <header class="head">
      <div class="container">
        <a class="brand" href="/console">
          Darkroom
        </a>
        {overview === undefined ? null : (
          <p class="who">
            <span>{overview.account.name}</span>
            <span class="quiet">{overview.person.email}</span>
          </p>
        )}
        <form method="post" action="/sign-out">
          <button type="submit" class="outline secondary small">
            Sign out
          </button>
        </form>
      </div>
    </header>
  );
}

function sectionOf(name: SectionName): (typeof SECTIONS)[number] {
  return SECTIONS.find((one) => one.name === name) ?? SECTIONS[0];
}

function Navigation({ overview }: { readonly overview: Overview | undefined }) {
  return (
    <nav aria-label="Account settings">
      <ul>
        {SECTIONS.map(({ name, title }) => (
          <li key={name}>
            <SectionLink name={name} isCurrent={place.value === undefined && section.value === name}>
              {title}
            </SectionLink>
          </li>
        ))}
        <li>
          <a href="/docs">API reference</a>
        </li>
      </ul>
      {overview?.has_operator_area === true ? <OperatorNavigation /> : null}
    </nav>
  );
}

/** A link works once: who came by one needs another way to come again. */
function NoWayBack({ overview: { person, session } }: { readonly overview: Overview }) {
  if (session.method !== 'link' || person.has_password || person.has_passkey) return null;
  return (
    <p class="notice">
      Your sign-in link worked once. <SectionLink name="sign-in">Set a password or add a passkey</SectionLink>, so that
      you can sign in again.
    </p>
  );
}

interface SectionProps {
  readonly name: SectionName;
  readonly overview: Overview;
  readonly data: Data<Overview>;
}

function Section({ name, overview, data }: SectionProps) {
  switch (name) {
    case 'api-and-mcp':
      return <AccessSection overview={overview} />;
    case 'credits':
      return <CreditsSection overview={overview} reload={data.reload} />;
    case 'sign-in':
      return <SignInSection overview={overview} reload={data.reload} />;
    default:
      return null;
  }
}
