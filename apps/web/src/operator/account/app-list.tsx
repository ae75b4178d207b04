import { numberText } from '../../format.js';
import { Fact } from '../../parts/fact.js';
import { Card } from '../../parts/card.js';
import { Loaded } from '../../parts/loaded.js';
import { MoreButton } from '../more-button.js';
import type { AppStorage, Storage } from '../server-types.js';
import { bytesText, counted } from '../texts.js';
import { usePages } from '../use-pages.js';

/** What the account makes the service keep, and its Apps with what each one keeps. */
export function AppList({ path }: { readonly path: string }) {
  const storage = usePages<'apps', AppStorage, Storage>(`${path}/storage`, 'apps');
  return (
    <Card id="apps" title="Apps and storage">
      <Loaded data={storage} what="Apps">
        {({ uncharged_content: uncharged, limits }) => (
          <>
            <p>
              {`${bytesText(uncharged.bytes)} of ${bytesText(limits.uncharged_content_bytes)} are kept for ${counted(uncharged.generations, 'generation')} that cost nothing.`}
            </p>
            {storage.items.length === 0 ? (
              <p class="empty">The account has no Apps.</p>
            ) : (
              <ul class="rows">
                {storage.items.map((app) => (
                  <AppRow key={app.app_id} app={app} limits={limits} />
                ))}
              </ul>
            )}
            <MoreButton pages={storage} what="Apps" />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function AppRow({ app, limits }: { readonly app: AppStorage; readonly limits: Storage['limits'] }) {
  return (
    <li>
      <div class="row-head">
        <h3>{app.name}</h3>
      </div>
      <dl class="facts">
        <Fact name="Uploads" text={`${numberText(app.uploads)} of ${numberText(limits.uploads)}`} />
        <Fact
          name="Unfinished"
          text={`${numberText(app.unfinished_uploads)} of ${numberText(limits.unfinished_uploads)}`}
        />
        <Fact name="Their files" text={`${bytesText(app.upload_bytes)} of ${bytesText(limits.upload_bytes)}`} />
        <Fact name="App id" text={app.app_id} />
      </dl>
    </li>
  );
}
