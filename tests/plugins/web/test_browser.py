"""The page in a real browser: headless Chromium, driven by Selenium.

AXE_CORE names the file ``axe.min.js`` of the npm package axe-core; CI fetches it. ``--screenshots DIR`` writes a
picture of each view at three widths, light and dark.
"""

import base64
import itertools
import os
import shutil
import warnings
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="selenium is not installed")
pytest.importorskip("jinja2")

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from tests.plugins.web.conftest import served

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

AXE = os.environ.get("AXE_CORE", "")
#: Rules of WCAG 2.2 up to level AA, and good practice.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Browser:
    """One Chromium that has entered the page. ``open`` loads a view and returns the driver."""

    def __init__(self, driver, client):
        self.driver, self.client = driver, client
        self.home = f"http://127.0.0.1:{client.port}{client.prefix}"
        driver.get(f"{self.home}?{client.token}")

    def open(self, view):
        self.driver.get(self.home + view)
        return self.driver

    def screen(self, width, height=900, scheme="light"):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def picture(self, path, *, width, most):
        height = min(most, self.driver.execute_script("return document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(taken["data"]))

    def problems(self):
        """What the browser complained of: errors of the script, blocked content."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
             f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")  # fmt: skip
    for flag in flags:
        options.add_argument(flag)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield made
    made.quit()


@pytest.fixture
def views(weeks):
    """Each view's name and path."""
    memory, _ = weeks
    session = next(s for s in memory.sessions() if s.endswith("-10"))
    dream = next(r for r in memory.dreams() if (r.added and r.replaced) or r.added)
    note = next(n for n in memory.services.store.names() if n.startswith("memory/2026-11-1"))
    return {
        "overview": "", "timeline": "timeline?days=30", "sessions": "sessions", "session": f"sessions/{session}",
        "notes": "notes", "note": f"documents/{note}", "memory": "memory", "why": "why/MEMORY.md:3", "facts": "facts",
        "fact": f"facts/{memory.facts.list()[0].id}", "departures": "departures", "dreams": "dreams",
        "dream": f"dreams/{dream.id}", "work": "work", "outbox": "outbox", "search": "search?q=webhook+queue",
        "start": "start", "error": "facts/none",
    }  # fmt: skip


@pytest.fixture
def browser(driver, weeks):
    made = Browser(driver, weeks[1])
    made.screen(1280)
    driver.get_log("browser")
    return made


def test_views__opened_in_a_browser__load_everything_and_do_not_scroll_sideways_at_400_percent_zoom(browser, views):
    wide = {}
    browser.screen(320, 256)
    for name, path in views.items():
        driver = browser.open(path)
        assert driver.find_element(By.TAG_NAME, "h1").text.strip() or name == "overview"
        assert "token" not in driver.current_url
        sheets = driver.execute_script("return [...document.styleSheets].map(s => s.cssRules.length > 50)")
        assert sheets == [True], name
        refused = [p for p in browser.problems() if name != "error" or "404" not in p]
        assert refused == [], name
        wide[name] = driver.execute_script("return document.documentElement.scrollWidth")
    assert {name: width for name, width in wide.items() if width > 320} == {}


def test_keyboard__alone__skips_to_the_content_searches_and_follows_a_hit(browser):
    driver = browser.open("")

    def press(*keys):
        webdriver.ActionChains(driver).send_keys(*keys).perform()
        return driver.switch_to.active_element

    first = press(Keys.TAB)
    assert first.text == "Skip to the content"
    assert first.value_of_css_property("outline-style") == "solid"
    assert press(Keys.ENTER).get_attribute("id") == "main"
    assert press("/").get_attribute("id") == "find"
    press("trigram", Keys.ENTER)
    _until(driver, lambda: driver.find_element(By.TAG_NAME, "h1").text == "Search")
    _until(driver, lambda: driver.find_element(By.TAG_NAME, "mark").text.lower() == "trigram")
    for _ in range(60):
        found = press(Keys.TAB)
        assert found.value_of_css_property("outline-style") == "solid", found.get_attribute("outerHTML")
        if found.tag_name == "a" and "turn " in found.text:
            break
    target = (found.get_attribute("href") or "").partition("#")[2]
    press(Keys.ENTER)
    _until(driver, lambda: driver.current_url.endswith(f"#{target}"))
    _until(driver, lambda: driver.find_element(By.ID, target).is_displayed())


def _until(driver, holds):
    """Wait until ``holds``, while a page may be replaced by the next one."""
    ignored = (NoSuchElementException, StaleElementReferenceException)
    WebDriverWait(driver, 20, ignored_exceptions=ignored).until(lambda _: holds())


def test_text__that_is_hostile__runs_nothing_and_loads_nothing(driver, serve, opened, project):
    hostile = "<script>document.title='taken'</script><img src=//a.example/x onerror=\"document.title='taken'\">"
    memory = opened()
    memory.session("s1").add("user", hostile)
    memory.facts.create(hostile)
    (project / ".holdfast" / "MEMORY.md").write_text(f"- {hostile} [x](javascript:document.title='taken') ![](//a/b)\n")
    browser = Browser(driver, serve(memory))
    driver.get_log("browser")
    for view in ("sessions/s1", "facts", "memory", "documents/MEMORY.md", "search?q=" + hostile.replace("<", "%3C")):
        browser.open(view)
        assert "taken'" in driver.find_element(By.TAG_NAME, "main").text, view
        assert "holdfast" in driver.title, view
        assert driver.find_elements(By.CSS_SELECTOR, "main img, main script, a[href^=javascript]") == [], view
        assert browser.problems() == [], view


def test_page__left_open__renews_itself_and_keeps_what_is_open_and_says_when_the_server_stops(driver, opened):
    memory = opened()
    session = memory.session("s1")
    for number in range(30):
        session.add("user", f"Question {number}. " + "Words of a long question. " * 60)
    with served(memory) as client:
        browser = Browser(driver, client)
        browser.screen(1280)
        browser.open("sessions/s1")
        box = driver.find_elements(By.CSS_SELECTOR, "details.clamp > summary")[4]
        driver.execute_script("arguments[0].click(); scrollTo({top: 900, behavior: 'instant'})", box)
        top = driver.execute_script("return scrollY")
        session.add("assistant", "A brand-new answer")
        _until(driver, lambda: "A brand-new answer" in driver.find_element(By.TAG_NAME, "main").text)
        is_open = driver.execute_script("return [...document.querySelectorAll('details.clamp')].map(box => box.open)")
        assert is_open[4]
        assert sum(is_open) == 1
        assert abs(driver.execute_script("return scrollY") - top) < 2
        assert browser.problems() == []
    _until(driver, lambda: "no longer renewed" in driver.find_element(By.ID, "stale").text)


@pytest.mark.skipif(not AXE, reason="AXE_CORE does not name axe.min.js")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_views__checked_by_axe__have_no_violation(browser, views, scheme):
    script = Path(AXE).read_text(encoding="utf-8")
    browser.screen(1280 if scheme == "light" else 400, scheme=scheme)
    found = {}
    for name, path in views.items():
        driver = browser.open(path)
        driver.execute_script("document.querySelectorAll('details').forEach(box => { box.open = true; })")
        driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})
        options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
        run = "axe.run(document, arguments[0]).then(r => arguments[1](r.violations.map(v => "
        run += "v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary).join(' | '))))"
        violations = driver.execute_async_script(run, options)
        if violations:
            found[name] = violations
    assert found == {}


def test_screenshots__of_each_view__are_written_where_the_option_says(browser, views, request):
    folder = request.config.getoption("--screenshots")
    if not folder:
        pytest.skip("--screenshots names no folder")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for width, scheme in itertools.product((400, 1280, 1920), ("light", "dark")):
        browser.screen(width, scheme=scheme)
        for name, path in views.items():
            browser.open(path)
            browser.picture(Path(folder) / f"{name}-{width}-{scheme}.png", width=width, most=2_400)
    browser.screen(1120, 800)
    for name in ("overview", "session"):
        browser.open(views[name])
        browser.picture(Path(folder) / f"web-{name}.png", width=1120, most=820)
