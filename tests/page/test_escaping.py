"""Names, titles and texts are data: whatever stands in them is shown and never run."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from rhapsode import Rhapsode
from tests.page.conftest import AddVoice, OpenPage

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\"'>{{7*7}}${7*7}"


def expect_unharmed(page: Page) -> None:
    assert page.title() != "taken"
    assert page.locator("main img, main script, main iframe").count() == 0


def test_hostile_titles_texts_and_voice_names_are_shown_as_they_are(
    open_page: OpenPage, client: Rhapsode, add_voice: AddVoice
) -> None:
    voice = add_voice(HOSTILE[:90], description=HOSTILE)
    job = client.wait(
        client.submit_job(f"{HOSTILE} And a word.", voice=voice.id, metadata={"title": HOSTILE, "a<b>": HOSTILE})
    )

    page = open_page(f"jobs/{job.id}")
    expect(page.get_by_role("heading", level=1, name=HOSTILE)).to_be_visible()
    expect(page.locator(".job-row").first).to_contain_text(HOSTILE)
    expect(page.locator(".manuscript")).to_contain_text("<img src=x")
    page.locator(".segment").first.click()
    page.get_by_role("button", name="Play from here").click()
    expect(page.locator(".player-title")).to_have_text(HOSTILE)
    page.locator("summary", has_text="Details").click()
    expect(page.locator(".facts")).to_contain_text(HOSTILE)
    expect_unharmed(page)

    page.get_by_role("link", name="Voices", exact=True).click()
    expect(page.get_by_role("heading", name=HOSTILE[:90])).to_be_visible()
    expect(page.locator(".voice-description")).to_contain_text(HOSTILE)
    expect_unharmed(page)

    page.get_by_role("link", name="Narrations").click()
    page.set_input_files("#document", {"name": "<b onmouseover=1>.txt", "mimeType": "text/plain", "buffer": b"Words."})
    expect(page.locator(".sheet .chip-name")).to_have_text("<b onmouseover=1>.txt")
    expect_unharmed(page)


def test_a_hostile_address_leads_to_the_narrations(open_page: OpenPage) -> None:
    page = open_page("<img src=x onerror=alert(1)>/constructor/__proto__")

    expect(page.get_by_role("heading", name="New narration")).to_be_visible()
    expect_unharmed(page)
