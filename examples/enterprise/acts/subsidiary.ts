/** People of a company that was bought sign in at their own provider, and are nobody else here. */
import { findLink } from "../../../test/support/browser.ts";
import { NINA } from "../company.ts";
import { COMPANY, createPerson, open, type Scene, session } from "../scene.ts";

const SUBSIDIARY = "Subsidiary Ltd";

export async function welcomeSubsidiary(scene: Scene): Promise<void> {
  const { steps, stage, alice } = scene;
  stage.balancer.prefer(undefined);
  const nina = createPerson(NINA);
  await steps.step("who opens a page of both companies is asked where they sign in; Nina takes her own", async () => {
    const asked = await createPerson(NINA).browser.open(`${stage.origin}/handbook`);
    for (const label of [COMPANY, SUBSIDIARY]) steps.ok(findLink(asked, label) !== undefined, `no ${label}`);
    const page = await open(scene, nina, "/handbook", SUBSIDIARY);
    steps.equal(page.text, "How we work");
    return page.text;
  });
  await steps.step("her subject there is Alice's here, and they are two users", async () => {
    const [ninas, alices] = [await session(scene, nina), await session(scene, alice)];
    steps.equal(ninas.json()["user"], "issuer:subsidiary/u-alice");
    steps.equal(alices.json()["user"], "u-alice");
    return "issuer:subsidiary/u-alice, u-alice";
  });
  await steps.step(
    "a group that her provider calls as the company calls one opens nothing: the policy asks for the provider, too",
    async () => {
      const page = await open(scene, nina, "/roadmap", SUBSIDIARY);
      steps.match(page.text, /users of another provider/);
      steps.ok(!page.text.includes("What comes next"), "she reads it");
      steps.equal(findLink(page, SUBSIDIARY), undefined);
      return "the page offers the company's provider, and keeps her session";
    },
  );
  await steps.step("a page of the company alone leads straight to the company's provider", async () => {
    const page = await createPerson(NINA).browser.open(`${stage.origin}/roadmap`);
    steps.ok(page.url.startsWith(stage.company.issuer), page.url);
  });
}
